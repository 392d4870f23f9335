package pattern

// jsonServices are the services that log in JSON, and the members that say who it was.
var jsonServices = []service{
	// Event 4625 of the Security channel, by the names of winlogbeat's winlog fields (7 and later)
	// and of Vector's sources/windows_event_log/parser.rs. Over RDP the LogonType is 10, and 3 with
	// network level authentication; one at the machine itself has no address.
	{name: "windows", paths: "json:addr=winlog.event_data.IpAddress,time=@timestamp,node=winlog.computer_name,auth_failure=winlog.event_id=4625"},
	{name: "windows-vector", paths: "json:addr=event_data.IpAddress,time=timestamp,node=computer,auth_failure=event_id=4625"},
	// Samba 4: auth_log.c log_authentication_event_json (log level auth_json_audit:2).
	{name: "samba-json", paths: "json:addr=Authentication.remoteAddress,time=timestamp,auth_failure=Authentication.status=NT_STATUS_WRONG_PASSWORD|NT_STATUS_NO_SUCH_USER|NT_STATUS_LOGON_FAILURE|NT_STATUS_ACCOUNT_LOCKED_OUT|NT_STATUS_ACCOUNT_DISABLED"},
	{name: "nextcloud", paths: "json:addr=remoteAddr,time=time,user_agent=userAgent,auth_failure=message=Login failed:*"},
	{name: "authentik", paths: "json:addr=client_ip,time=timestamp,host=host,auth_failure=event=invalid_login|login_failed"},
	{name: "teleport", paths: "json:addr=addr.remote,time=time,user_agent=user_agent,auth_failure=code=T1000W"},
	{name: "mongodb", paths: "json:addr=attr.remote,time=t.$date,auth_failure=msg=Authentication failed"},
	{name: "aws-console", paths: "json:addr=sourceIPAddress,time=eventTime,user_agent=userAgent,auth_failure=errorMessage=Failed authentication"},
	{name: "ntfy", paths: "json:addr=visitor_ip,time=time,method=http_method,path=http_path,auth_failure=error=unauthorized"},
	{name: "cowrie-json", paths: "json:addr=src_ip,time=timestamp,handshake=eventid=cowrie.session.connect,auth_failure=eventid=cowrie.login.failed"},
	{name: "opensearch-dashboards", paths: "json:addr=req.remoteAddress,time=@timestamp,method=req.method,path=req.url,status=statusCode,user_agent=req.userAgent,host=req.headers.host"},
}
