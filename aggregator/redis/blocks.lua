-- The second half of the library: blocks and heartbeats. It goes on where
-- library.lua ends, and uses what is local there.

-- Blocks: hash blocks holds prefix -> record, sorted set ends prefix -> the
-- second from which the record may be forgotten, stream every record taken,
-- hash state the count of these (version), the digest in two words (d1, d2), the
-- stream's newest id (tip), the fleet's number of partitions and when the
-- namespace was born. A record is
--
--   format (1) version (8) allow (1) until, ns (8) lifted (1) since, ns (8)
--   rule NUL origin NUL reason NUL count (4) limit (4) forced (1) proxied (1) retention, s (4)
--
-- so that of two the greater in byte order is the one to keep.
local RULE, LEAST, LONGEST = 28, 27 + 3 + 14, 1024
local REMOVED = 200 -- ended records that one call removes at most
local STREAM = 100000

-- toggle adds a record to the digest, or takes it out of it.
local function toggle(digest, prefix, record)
  local hash = redis.sha1hex(prefix .. record)
  digest[1] = bit.bxor(digest[1], tonumber(sub(hash, 1, 8), 16)) % 2 ^ 32
  digest[2] = bit.bxor(digest[2], tonumber(sub(hash, 9, 16), 16)) % 2 ^ 32
end

local function digestOf(state)
  local words = call('HMGET', state, 'd1', 'd2')
  return { tonumber(words[1] or 0), tonumber(words[2] or 0) }
end

local function setDigest(state, digest)
  call('HSET', state, 'd1', format('%.0f', digest[1]), 'd2', format('%.0f', digest[2]))
end

-- removeEnded forgets records that ended by a second; it reports whether none
-- is left.
local function removeEnded(blocks, ends, state, second)
  local over = call('ZRANGEBYSCORE', ends, '-inf', second, 'LIMIT', 0, REMOVED + 1)
  if #over == 0 then return true end
  local digest = digestOf(state)
  for i = 1, min(#over, REMOVED) do
    local record = call('HGET', blocks, over[i])
    if record then toggle(digest, over[i], record) end
    call('HDEL', blocks, over[i])
    call('ZREM', ends, over[i])
  end
  setDigest(state, digest)
  return #over <= REMOVED
end

-- greater reports whether a stands after b in byte order. Lua's own < follows
-- the locale of the server.
local function greater(a, b)
  for i = 1, min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

local function ruleOf(record)
  return sub(record, RULE, find(record, '\0', RULE, true) - 1)
end

-- supersedes reports whether a record is taken where old stands. The greater
-- one is, but of several nodes that cross together, and write one version with
-- ends that differ a little, the first wins: one crossing makes one block.
-- Allowances are made by hand, one by one, and have no such exception.
local function supersedes(record, old, now)
  local ends, stands = unpack('>I8', record, 11), unpack('>I8', old, 11)
  if stands > now * 1e6 and byte(old, 19) == 0 and byte(record, 19) == 0 and byte(record, 10) == 0 and sub(old, 2, 10) == sub(record, 2, 10)
      and ends <= stands + 1e9 and ruleOf(old) == ruleOf(record) then
    return false
  end
  return greater(record, old)
end

-- isRecord reports whether the rest can be read without an error.
local function isRecord(record)
  return #record >= LEAST and #record <= LONGEST and byte(record) == 1 and find(record, '\0', RULE, true) ~= nil
end

-- publish: KEYS blocks, ends, stream, state; ARGV now in unix milliseconds, then
-- prefix and record by turns. Answers 1 for each that was taken, 0 for each that
-- was not: a greater one stands, or it is none. What a node's clock calls ended
-- is removed only if the server's agrees.
local function publish(keys, args)
  if not call then bind() end
  if #keys ~= 4 or #args % 2 ~= 1 or not whole(args[1], 2 ^ 53) then
    return fail('arguments: publish takes blocks, ends, stream and state, the time, and prefixes with records')
  end
  local now, blocks, ends, stream, state = tonumber(args[1]), keys[1], keys[2], keys[3], keys[4]
  removeEnded(blocks, ends, state, min(floor(now / 1000), tonumber(call('TIME')[1])))
  local out, digest, tip = {}, digestOf(state), nil
  for i = 2, #args, 2 do
    local prefix, record = args[i], args[i + 1]
    local taken = isRecord(record)
    local old = taken and call('HGET', blocks, prefix)
    if old and isRecord(old) then taken = supersedes(record, old, now) end -- what is none gives way
    if taken then
      if old then toggle(digest, prefix, old) end
      toggle(digest, prefix, record)
      local over = floor(unpack('>I8', record, 11) / 1e9) + unpack('>I4', record, #record - 3)
      call('HSET', blocks, prefix, record)
      call('ZADD', ends, format('%.0f', over), prefix)
      local version = call('HINCRBY', state, 'version', 1)
      tip = call('XADD', stream, 'MAXLEN', '~', STREAM, '*', 'v', version, 'p', prefix, 'r', record)
    end
    out[#out + 1] = taken and 1 or 0
  end
  if tip then
    setDigest(state, digest)
    call('HSET', state, 'tip', tip)
  end
  return out
end

-- beat: KEYS nodes, state, ends, blocks; ARGV field, value, partitions. Files a
-- node's heartbeat (an empty field only asks) with the second it came in before
-- it, and tells how the namespace stands: second and microsecond of TIME,
-- version, digest ('' while ended records wait to be removed), the second by
-- which all that had ended are removed, tip, birth, then field, value, field,
-- value…. The birth is the time of the first beat since the namespace was empty:
-- where it changes, all that stood there was lost.
local BEAT = 3600 -- seconds after which a beat is forgotten
local function beat(keys, args)
  if not call then bind() end
  if #keys ~= 4 or #args ~= 3 or #args[2] > 1024 or not whole(args[3], 2 ^ 31) then
    return fail('arguments: beat takes nodes, state, ends and blocks, a field, a value of at most 1024 bytes and partitions')
  end
  local nodes, state, time = keys[1], keys[2], call('TIME')
  local second = tonumber(time[1])
  call('HSETNX', state, 'partitions', args[3])
  call('HSETNX', state, 'born', time[1] .. '.' .. time[2])
  local known = call('HMGET', state, 'version', 'tip', 'partitions', 'born')
  if known[3] ~= args[3] then return fail('partitions ', known[3]) end
  local all, digest = removeEnded(keys[4], keys[3], state, second), ''
  if all then
    local words = digestOf(state)
    digest = format('%08x%08x', words[1], words[2])
  end
  if args[1] ~= '' then call('HSET', nodes, args[1], second .. ' ' .. args[2]) end
  local out = { second, tonumber(time[2]), tonumber(known[1] or 0), digest, second, known[2] or '', known[4] }
  local beats = call('HGETALL', nodes)
  for i = 1, #beats, 2 do
    local space = find(beats[i + 1], ' ', 1, true)
    local came = space and tonumber(sub(beats[i + 1], 1, space - 1))
    if not came or math.abs(second - came) > BEAT then -- too old, or none of ours
      call('HDEL', nodes, beats[i])
    else
      out[#out + 1] = beats[i]
      out[#out + 1] = sub(beats[i + 1], space + 1)
    end
  end
  return out
end

-- repair: KEYS state; ARGV version, digest, another digest. Sets a digest right
-- that no reading of the blocks comes to: state was lost while the blocks were
-- not, or these were written past the library. It answers 1 if version and
-- digest still were those given and the other stands now, else 0.
local function repair(keys, args)
  if not call then bind() end
  if #keys ~= 1 or #args ~= 3 or not whole(args[1], 2 ^ 53)
      or #args[2] ~= 16 or #args[3] ~= 16 or find(args[2] .. args[3], '[^0-9a-f]') then
    return fail('arguments: repair takes state, a version and two digests of 16 hex digits')
  end
  local words, version = digestOf(keys[1]), call('HGET', keys[1], 'version') or 0
  if tonumber(version) ~= tonumber(args[1]) or format('%08x%08x', words[1], words[2]) ~= args[2] then return 0 end
  setDigest(keys[1], { tonumber(sub(args[3], 1, 8), 16), tonumber(sub(args[3], 9), 16) })
  return 1
end

redis.register_function('edgeguard1_repair', repair)
redis.register_function('edgeguard1_publish', publish)
redis.register_function('edgeguard1_beat', beat)
