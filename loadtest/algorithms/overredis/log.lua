-- A log of what was allowed: a sorted set with a member for each unit of cost,
-- whose score is when it came.
-- KEYS: the log.
-- ARGV: now and window (microseconds), limit, cost, the request's own name, after
-- how many milliseconds the key may go, and by which entry a refused request is
-- told when to come again: 'oldest', or 'needed', which is the last of those that
-- have to leave before there is room for its cost.
-- Returns whether it is allowed, what the log has, and after how many microseconds
-- that entry leaves; -1 if there is none.
local now, window, limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local used = redis.call('ZCARD', KEYS[1])
if used + cost > limit then
  local at = ARGV[7] == 'needed' and used + cost - limit - 1 or 0
  local entry = redis.call('ZRANGE', KEYS[1], at, at, 'WITHSCORES')
  if not entry[2] then return { 0, used, -1 } end
  return { 0, used, tonumber(entry[2]) + window - now }
end
for i = 1, cost do redis.call('ZADD', KEYS[1], ARGV[1], ARGV[5] .. ':' .. i) end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
return { 1, used + cost, -1 }
