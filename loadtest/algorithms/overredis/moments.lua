-- A log whose members are the moments themselves: two requests of one microsecond
-- are one member. It knows no cost but 1 and says nothing of when to come again.
-- KEYS: the log.
-- ARGV: now (microseconds), '' for Redis' own clock; window (microseconds), limit,
-- after how many milliseconds the key may go.
-- Returns whether it is allowed, and what the log has.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[2]))
local used, allowed = redis.call('ZCARD', KEYS[1]), 0
if used < tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], now, string.format('%.0f', now))
  used, allowed = used + 1, 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { allowed, used }
