package pattern

// jsonServices are the services that log in JSON, and the members that say who it was.
var jsonServices = []service{
	{name: "nextcloud", paths: "json:addr=remoteAddr,time=time,user_agent=userAgent,auth_failure=message=Login failed:*"},
	{name: "authentik", paths: "json:addr=client_ip,time=timestamp,host=host,auth_failure=event=invalid_login|login_failed"},
	{name: "teleport", paths: "json:addr=addr.remote,time=time,user_agent=user_agent,auth_failure=code=T1000W"},
	{name: "mongodb", paths: "json:addr=attr.remote,time=t.$date,auth_failure=msg=Authentication failed"},
	{name: "aws-console", paths: "json:addr=sourceIPAddress,time=eventTime,user_agent=userAgent,auth_failure=errorMessage=Failed authentication"},
	{name: "ntfy", paths: "json:addr=visitor_ip,time=time,method=http_method,path=http_path,auth_failure=error=unauthorized"},
	{name: "cowrie-json", paths: "json:addr=src_ip,time=timestamp,handshake=eventid=cowrie.session.connect,auth_failure=eventid=cowrie.login.failed"},
	{name: "opensearch-dashboards", paths: "json:addr=req.remoteAddress,time=@timestamp,method=req.method,path=req.url,status=statusCode,user_agent=req.userAgent,host=req.headers.host"},
}
