-- Two counters: how much of the client's cost was allowed in the fixed window
-- before this one and in this one. The one before counts by the part of it that
-- the window which ends now still covers.
-- KEYS: the counter before, the present one.
-- ARGV: limit, cost, window and how much of it has gone (microseconds), after how
-- many milliseconds the key may go.
-- Returns whether it is allowed, and the estimate times the window: whole numbers
-- below 2^53, so that nothing is rounded.
local limit, cost, window, elapsed = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local before = tonumber(redis.call('GET', KEYS[1]) or 0)
local present = tonumber(redis.call('GET', KEYS[2]) or 0)
local weighed = before * (window - elapsed) + present * window
if weighed >= (limit - cost + 1) * window then return { 0, weighed } end
if redis.call('INCRBY', KEYS[2], cost) == cost then redis.call('PEXPIRE', KEYS[2], ARGV[5]) end
return { 1, weighed + cost * window }
