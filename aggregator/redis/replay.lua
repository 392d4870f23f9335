#!lua name=edgeguard1_replay

-- What a replay of recorded events needs of Redis beside the functions of nodes,
-- in a library of its own: nodes never call it, and their user may not run the
-- SET in it.

-- clock: KEYS clock; ARGV "claimed" for a replay's namespace, where pushes say
-- what time it is, or nothing to remove that.
local function clock(keys, args)
  if #keys ~= 1 or #args ~= 1 or not (args[1] == '' or args[1] == 'claimed') then
    return redis.error_reply('EDGEGUARD arguments: clock takes a key, and claimed or nothing')
  end
  if args[1] == '' then redis.call('DEL', keys[1]) else redis.call('SET', keys[1], 'claimed') end
  return redis.status_reply('OK')
end

redis.register_function('edgeguard1_replay_clock', clock)
