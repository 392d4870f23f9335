-- The second half of the library: blocks and heartbeats. It goes on where
-- library.lua ends, and uses what is local there.

-- Blocks: hash blocks holds prefix -> record, sorted set ends prefix -> the
-- second from which the record may be forgotten, stream every record taken,
-- hash macs prefix -> the record's MAC if it is signed, hash state the count of
-- changes (version), the digest in two words (d1, d2), the stream's newest id
-- (tip), the fleet's number of partitions and when the namespace was born. Nodes
-- check MACs; here one is 21 bytes, and of a record that has another since it
-- fits nothing. A record is
--
--   format (1) version (8) allow (1) until, ns (8) lifted (1) since, ns (8)
--   rule NUL origin NUL reason NUL count (4) limit (4) forced (1) proxied (1) retention, s (4)
--
-- so that of two the greater in byte order is the one to keep.
local RULE, LEAST, LONGEST = 28, 27 + 3 + 14, 1024
local MAC = 21
local REMOVED = 200 -- ended records that one call removes at most
local STREAM = 100000
local FULL = 2 ^ 18   -- records from which on a rule's block needs another one's room
local SAMPLE = 128    -- records that are looked at for one that goes
local SOME = 16       -- a network with such a part of them has many

-- toggle adds a record to the digest, or takes it out of it.
local function toggle(digest, prefix, record)
  local hash = redis.sha1hex(prefix .. record)
  digest[1] = bit.bxor(digest[1], tonumber(sub(hash, 1, 8), 16)) % 2 ^ 32
  digest[2] = bit.bxor(digest[2], tonumber(sub(hash, 9, 16), 16)) % 2 ^ 32
end

-- number is the whole number below a bound that a field of state holds, or 0.
local function number(text, bound)
  return text and whole(text, bound) and tonumber(text) or 0
end

local function digestOf(state)
  local words = call('HMGET', state, 'd1', 'd2')
  return { number(words[1], 2 ^ 32), number(words[2], 2 ^ 32) }
end

local function setDigest(state, digest)
  call('HSET', state, 'd1', format('%.0f', digest[1]), 'd2', format('%.0f', digest[2]))
end

-- LOOK is how the type of a key is looked at, by commands that a node's user has.
local LOOK = {
  hash = function(key) return try('HLEN', key) end,
  zset = function(key) return try('ZRANGEBYSCORE', key, 0, 0, 'LIMIT', 0, 0) end,
  stream = function(key) return try('XREAD', 'COUNT', 1, 'STREAMS', key, '$') end,
}

-- mistyped returns an error if a key is not of its type. It is called before
-- anything is written.
local function mistyped(keys, types)
  for i = 1, #keys do
    local got = LOOK[types[i]](keys[i])
    if otherType(got) then return fail('type: ', keys[i], ' is not of the type ', types[i], ': delete it') end
    if type(got) == 'table' and got.err then return got end
  end
end

-- removeEnded forgets records that ended by a second, and their MACs; it reports
-- whether none is left.
local function removeEnded(blocks, ends, state, second, macs)
  local over = call('ZRANGEBYSCORE', ends, '-inf', second, 'LIMIT', 0, REMOVED + 1)
  if #over == 0 then return true end
  local digest = digestOf(state)
  for i = 1, min(#over, REMOVED) do
    local record = call('HGET', blocks, over[i])
    if record then toggle(digest, over[i], record) end
    call('HDEL', blocks, over[i])
    call('ZREM', ends, over[i])
    call('HDEL', macs, over[i])
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

-- networks gives the IPv4 /16, or the IPv6 /48 and /32, in which a prefix lies,
-- in some text that is the same for all that lie there.
local function networks(prefix)
  local v4 = match(prefix, '^%d+%.%d+%.')
  if v4 then return v4 end
  local head = sub(prefix, 1, (find(prefix, '::', 1, true) or #prefix + 1) - 1) .. ':0:0:0:'
  return match(head, '^[^:]*:[^:]*:[^:]*:'), match(head, '^[^:]*:[^:]*:')
end

-- byRule reports that only a rule wants this: it is a block, neither by hand nor
-- forced, and no tombstone.
local function byRule(record)
  return byte(record, 10) == 0 and byte(record, 19) == 0 and byte(record, #record - 5) == 0 and ruleOf(record) ~= 'manual'
end

local function hasEnded(record, second)
  return unpack('>I8', record, 11) <= second * 1e9
end

-- tie is a number by which texts are told apart where nothing else does.
local function tie(text)
  return tonumber(sub(redis.sha1hex(text), 1, 12), 16)
end

local function tieOf(pile)
  pile.tie = pile.tie or tie(pile.name)
  return pile.tie
end

-- younger orders what is sampled: what goes first stands last.
local function younger(a, b)
  if a.since ~= b.since then return a.since < b.since end
  a.tie, b.tie = a.tie or tie(a.prefix), b.tie or tie(b.prefix)
  return a.tie < b.tie
end

-- A pile is some of the sample; n is how many of them are still there.
local function put(piles, name, one)
  local pile = piles[name]
  if not pile then
    pile = { n = 0, name = name }
    piles[name] = pile
  end
  pile.n, pile[#pile + 1], one[#one + 1] = pile.n + 1, one, pile
end

local function last(pile)
  if not pile.sorted then
    table.sort(pile, younger)
    pile.sorted = true
  end
  while pile[#pile].gone do pile[#pile] = nil end
  return pile[#pile]
end

-- sampleOf looks at some records, all of a small hash: those that have ended,
-- and rules' blocks by their networks. Where it begins is nobody's choice, since
-- it follows from the digest.
local function sampleOf(blocks, digest, second)
  local sample = { found = {}, size = 0, ended = {}, narrow = {}, wide = {} }
  local cursor, ends = format('%.0f', digest[1]), 0
  for _ = 1, 4 do
    local got = call('HSCAN', blocks, cursor, 'COUNT', SAMPLE)
    for i = 1, #got[2], 2 do
      local prefix, record = got[2][i], got[2][i + 1]
      if not sample.found[prefix] and sample.size < 2 * SAMPLE then
        local one, fits = { prefix = prefix, record = record, since = 0 }, isRecord(record)
        if fits then one.since = unpack('>I8', record, 20) end
        if not fits or hasEnded(record, second) then
          put(sample.ended, '', one)
        elseif byRule(record) then
          local narrow, wide = networks(prefix)
          put(sample.narrow, narrow, one)
          if wide then put(sample.wide, wide, one) end
        end
        sample.found[prefix], sample.size = one, sample.size + 1
      end
    end
    cursor = got[1]
    if cursor == '0' then ends = ends + 1 end
    if ends == 2 or sample.size >= SAMPLE then break end
  end
  return sample
end

-- unsample takes out a prefix that is gone, or has another record now.
local function unsample(sample, prefix)
  local one = sample and sample.found[prefix]
  if not one then return end
  sample.found[prefix], one.gone = nil, true
  for i = 1, #one do one[i].n = one[i].n - 1 end
end

-- most gives the pile with most in it, or nil. Piles never grow.
local function most(piles)
  local top
  for _, pile in pairs(piles) do
    if pile.n > 0 and (not top or pile.n > top.n or pile.n == top.n and tieOf(pile) > tieOf(top)) then top = pile end
  end
  return top
end

-- crowded reports whether a network has many, and twice as many as that of a new
-- record, so that no two networks push each other out by turns.
local function crowded(sample, top, own)
  return top and top.n * SOME >= sample.size and top.n >= 2 * ((own and own.n or 0) + 1)
end

-- goes gives what makes room for a record, or nil: what has ended, then the
-- youngest of a rule's blocks of the network that has most. For an operator's
-- word any rule's block goes.
local function goes(sample, prefix, record)
  local ended = most(sample.ended)
  if ended then return last(ended) end
  local top = most(sample.narrow)
  if not byRule(record) then return top and last(top) end
  local narrow, wide = networks(prefix)
  if crowded(sample, top, sample.narrow[narrow]) then return last(top) end
  top = most(sample.wide)
  if crowded(sample, top, wide and sample.wide[wide]) then return last(top) end
end

-- goneRecord is the record by which the stream announces a block that is gone:
-- one that is over, which nodes that know nothing of this pass over and forget.
-- Those that do go by the field d.
local function goneRecord(second)
  return pack('>BI8BI8BI8', 1, 0, 0, second * 1e9, 0, (second - 1) * 1e9) .. ('\0'):rep(3 + 14)
end

-- count adds one to a counter of state, which begins again where it holds what
-- cannot be counted on.
local function count(state, field)
  local n = try('HINCRBY', state, field, 1)
  if type(n) == 'number' and n > 0 and n < 2 ^ 53 then return n end
  call('HSET', state, field, 1)
  return 1
end

-- add adds a change to the stream, and returns its id. A stream that has had the
-- greatest id takes no other: it goes, and nodes read the whole list.
local function add(keys, prefix, record, ...)
  local version = count(keys[4], 'version')
  local tip = try('XADD', keys[3], 'MAXLEN', '~', STREAM, '*', 'v', version, 'p', prefix, 'r', record, ...)
  if type(tip) == 'string' then return tip end
  call('DEL', keys[3])
  return call('XADD', keys[3], 'MAXLEN', '~', STREAM, '*', 'v', version, 'p', prefix, 'r', record, ...)
end

-- remove removes a record and its MAC for good; it returns the id of that
-- change.
local function remove(keys, prefix, second)
  call('HDEL', keys[1], prefix)
  call('ZREM', keys[2], prefix)
  call('HDEL', keys[5], prefix)
  return add(keys, prefix, goneRecord(second), 'd', '1')
end

-- makeRoom has one record go for another; it gives the id of that change, or nil
-- where none goes.
local function makeRoom(keys, sample, digest, prefix, record, second)
  local one = goes(sample, prefix, record)
  if not one then return nil end
  toggle(digest, one.prefix, one.record)
  unsample(sample, one.prefix)
  return remove(keys, one.prefix, second)
end

-- announce puts a record's MAC, or '', beside it and adds the record to the
-- stream; it returns the id of that change.
local function announce(keys, prefix, record, mac)
  if mac ~= '' then
    call('HSET', keys[5], prefix, mac)
    return add(keys, prefix, record, 'm', mac)
  end
  call('HDEL', keys[5], prefix)
  return add(keys, prefix, record)
end

-- store puts a record in the place of old, which may be false.
local function store(keys, digest, prefix, old, record, mac)
  if old then toggle(digest, prefix, old) end
  toggle(digest, prefix, record)
  local over = floor(unpack('>I8', record, 11) / 1e9) + unpack('>I4', record, #record - 3)
  call('HSET', keys[1], prefix, record)
  call('ZADD', keys[2], format('%.0f', over), prefix)
  return announce(keys, prefix, record, mac)
end

local LIST = { 'hash', 'zset', 'stream', 'hash', 'hash' } -- blocks, ends, stream, state, macs

-- dropStrayMACs drops some of the MACs that have no record, where these must be:
-- who else writes to Redis can leave any number of them. A caller cannot choose
-- where it begins.
local function dropStrayMACs(blocks, macs, cursor)
  if call('HLEN', macs) <= call('HLEN', blocks) then return end
  for _ = 1, 2 do
    local got = call('HSCAN', macs, cursor, 'COUNT', 100)
    for i = 1, #got[2], 2 do
      if not call('HGET', blocks, got[2][i]) then call('HDEL', macs, got[2][i]) end
    end
    cursor = got[1]
    if cursor ~= '0' then return end
  end
end

-- macsOf reports whether every step-th of the arguments from first on is a MAC
-- or empty.
local function macsOf(args, first, step)
  for i = first, #args, step do
    if #args[i] ~= 0 and #args[i] ~= MAC then return false end
  end
  return true
end

-- publish: KEYS blocks, ends, stream, state, macs; ARGV now in unix milliseconds,
-- then prefix, record and its MAC or '' by turns. Answers 1 for each that was
-- accepted, 0 for each that was not: there is a greater one, or it is not a record;
-- 2 for each that found no room; and 3 for each that was there already and has
-- another MAC now. From
-- FULL records on a new one needs another's room; an operator's word is taken
-- without, up to twice as many. What a node's clock calls ended is removed only
-- if the server's agrees.
local function publish(keys, args)
  if not call then bind() end
  if #keys ~= 5 or (#args - 1) % 3 ~= 0 or not whole(args[1], 2 ^ 53) or not macsOf(args, 4, 3) then
    return fail('arguments: publish takes blocks, ends, stream, state and macs, the time, and prefixes with records and MACs of ', MAC, ' bytes')
  end
  local wrong = mistyped(keys, LIST)
  if wrong then return wrong end
  local now, blocks, ends, state, macs, time = tonumber(args[1]), keys[1], keys[2], keys[4], keys[5], call('TIME')
  local second = min(floor(now / 1000), tonumber(time[1]))
  removeEnded(blocks, ends, state, second, macs)
  local out, digest, tip, held, sample = {}, digestOf(state), nil, call('HLEN', blocks), nil
  for i = 2, #args, 3 do
    local prefix, record, mac, answer = args[i], args[i + 1], args[i + 2], 0
    local old = isRecord(record) and call('HGET', blocks, prefix)
    if isRecord(record) and (not old or not isRecord(old) or supersedes(record, old, now)) then
      answer = 1 -- what is none gives way
      if not old and held >= FULL then
        local ended = hasEnded(record, second)
        if not ended then sample = sample or sampleOf(blocks, digest, second) end
        local gone = not ended and makeRoom(keys, sample, digest, prefix, record, second)
        if gone then
          tip, held = gone, held - 1
        elseif ended or byRule(record) or held >= 2 * FULL then
          answer = 2
        end
      end
    end
    if answer == 1 then
      if not old then held = held + 1 end
      unsample(sample, prefix)
      tip = store(keys, digest, prefix, old, record, mac)
    elseif old == record and mac ~= '' and call('HGET', macs, prefix) ~= mac then
      answer, tip = 3, announce(keys, prefix, record, mac)
    end
    out[#out + 1] = answer
  end
  if tip then
    setDigest(state, digest)
    call('HSET', state, 'tip', tip)
  end
  dropStrayMACs(blocks, macs, time[2])
  return out
end

-- replace: KEYS blocks, ends, stream, state, macs; ARGV by fours prefix, a record
-- that every node refuses, the one for its place or '' for none, and its MAC or
-- ''. A refused record may be greater than any good one, so publish would keep it.
-- Answers 1 for each where exactly the refused bytes were, else 0: of several
-- nodes that do this, one does it.
local function replace(keys, args)
  if not call then bind() end
  if #keys ~= 5 or #args == 0 or #args % 4 ~= 0 or not macsOf(args, 4, 4) then
    return fail('arguments: replace takes blocks, ends, stream, state and macs, and prefixes with the refused record, another and a MAC of ', MAC, ' bytes')
  end
  local wrong = mistyped(keys, LIST)
  if wrong then return wrong end
  local out, digest, tip, second = {}, digestOf(keys[4]), nil, tonumber(call('TIME')[1])
  for i = 1, #args, 4 do
    local prefix, bad, record, answer = args[i], args[i + 1], args[i + 2], 0
    if (record == '' or isRecord(record)) and call('HGET', keys[1], prefix) == bad then
      answer = 1
      if record == '' then
        toggle(digest, prefix, bad)
        tip = remove(keys, prefix, second)
      else
        tip = store(keys, digest, prefix, bad, record, args[i + 3])
      end
    end
    out[#out + 1] = answer
  end
  if tip then
    setDigest(keys[4], digest)
    call('HSET', keys[4], 'tip', tip)
  end
  return out
end

-- Heartbeats: hash nodes holds field -> the second it came in and the text, sorted
-- set seen field -> that second of who is alive, sorted set moved field -> the
-- membership version of its last change. The state's field members counts changes:
-- a node came, went, was silent, or reports other things of itself. So a node reads
-- what changed since its last beat, and all heartbeats only now and then. Who is
-- in seen is alive, whatever the clock of Redis does, until a call drops it.
local BEAT = 3600 -- seconds after which a beat is forgotten
local SILENT = 10 -- seconds after which a node is not alive
local NEWS = 32   -- changes that one call makes or returns at most
local NODES = 2 ^ 15 -- heartbeats that no fleet has, nor a node keeps
local LONG = 1200 -- bytes that no heartbeat has, with its second
local SHORT = 64  -- bytes that tip and born never have
local SPARE = 1024 -- records above twice FULL that a publish may have added

local function changed(keys, field)
  call('ZADD', keys[6], count(keys[2], 'members'), field)
end

-- parsed returns the second and the text of a heartbeat, or nothing.
local function parsed(value)
  local space = value and #value <= LONG and find(value, ' ', 1, true)
  local came = space and sub(value, 1, space - 1)
  if came and whole(came, 2 ^ 53) then return tonumber(came), sub(value, space + 1) end
end

local function near(came, second)
  return math.abs(second - came) < SILENT
end

-- beyond reports whether a sorted set has more than NODES members.
local function beyond(key)
  return #call('ZRANGEBYSCORE', key, '-inf', '+inf', 'LIMIT', NODES, 1) > 0
end

-- overfull empties what holds more than these functions put there: to read it would
-- take longer than a node waits. All nodes fill it again. A list that goes takes
-- state with it, as where Redis lost its data.
local function overfull(keys)
  if call('HLEN', keys[4]) > 2 * FULL + SPARE or call('HLEN', keys[7]) > 2 * FULL + SPARE then
    call('DEL', keys[2], keys[3], keys[4], keys[7])
  end
  if call('HLEN', keys[1]) > NODES or beyond(keys[5]) or beyond(keys[6]) then
    call('DEL', keys[1], keys[5], keys[6])
  end
end

-- wholeList appends field, whether the node is alive, and text of all heartbeats,
-- and forgets those that are too old or no heartbeats.
local function wholeList(keys, out, second)
  local beats, seen = call('HGETALL', keys[1]), {}
  for _, field in ipairs(call('ZRANGEBYSCORE', keys[5], '-inf', '+inf')) do seen[field] = true end
  for i = 1, #beats, 2 do
    local field, came, text = beats[i], parsed(beats[i + 1])
    if not came or #field > LONG or not seen[field] and math.abs(second - came) > BEAT then
      call('HDEL', keys[1], field)
      if came and came < second then call('ZREM', keys[6], field) end -- all have read that it went
    else
      out[#out + 1], out[#out + 2], out[#out + 3] = field, seen[field] and 1 or 0, text
    end
  end
end

-- news appends the heartbeats that changed after a membership version, and
-- returns the version up to which it got and whether there may be more.
local function news(keys, out, since, known)
  local some = call('ZRANGEBYSCORE', keys[6], '(' .. format('%.0f', since), format('%.0f', known), 'WITHSCORES', 'LIMIT', 0, NEWS)
  local fields = {}
  for i = 1, #some, 2 do fields[#fields + 1] = some[i] end
  if #fields == 0 then return end
  local beats = call('HMGET', keys[1], values(fields))
  for i = 1, #fields do
    local came, text = parsed(beats[i])
    -- A score raised by 0 where there is one: the way to ask for it by a command
    -- that the rest of the library calls, too.
    local alive = came and call('ZADD', keys[5], 'XX', 'INCR', 0, fields[i])
    out[#out + 1], out[#out + 2], out[#out + 3] = fields[i], alive and 1 or 0, alive and text or ''
  end
  if #fields < NEWS then return known, 0 end
  return math.ceil(tonumber(some[#some])), 1
end

-- filed puts a node's heartbeat in place, or takes the node out of seen if the
-- text is empty: a farewell. It returns whether another process uses the
-- field, and the second of the heartbeat before.
local function filed(keys, field, text, run, moved, second)
  local before, last = parsed(call('HGET', keys[1], field))
  local other = 0
  if text ~= '' then
    call('HSET', keys[1], field, second .. ' ' .. text)
    local new = call('ZADD', keys[5], second, field) == 1
    if new or moved then changed(keys, field) end
    if not new and before and near(before, second) and not find(last, '"run":"' .. run .. '"', 1, true) then other = 1 end
  elseif call('ZREM', keys[5], field) == 1 then
    changed(keys, field)
  end
  return other, before or 0
end

local function drop(keys, from, to)
  for _, field in ipairs(call('ZRANGEBYSCORE', keys[5], from, to, 'LIMIT', 0, NEWS)) do
    call('ZREM', keys[5], field)
    changed(keys, field)
  end
end

-- members files a heartbeat and appends to the answer [8] the membership version
-- for the next call, [9] whether another process uses the field,
-- [10] the second of the field's heartbeat before or 0, [11] whether there is
-- more, [12] whether this is the whole list, [13] the state's field ask, [14] the
-- number of MACs, and field, alive, text, field, alive, text….
local function members(keys, args, out, second)
  local other, before = 0, 0
  if args[1] ~= '' then other, before = filed(keys, args[1], args[2], args[6], args[5] == '1', second) end
  drop(keys, '-inf', second - SILENT)
  drop(keys, second + SILENT, '+inf') -- the clock of Redis went back
  local state = call('HMGET', keys[2], 'members', 'ask')
  local known, since = number(state[1], 2 ^ 53), tonumber(args[4])
  out[8], out[9], out[10], out[11], out[12], out[13], out[14] = known, other, before, 0, 0, number(state[2], 2 ^ 53), call('HLEN', keys[7])
  if since < 0 or since > 0 and since == known then return out end
  if since > 0 and since < known then
    local to, more = news(keys, out, since, known)
    if to then
      out[8], out[11] = to, more
      return out
    end
  end
  out[12] = 1
  overfull(keys)
  wholeList(keys, out, second)
  return out
end

local BEATS = { 'hash', 'hash', 'zset', 'hash', 'zset', 'zset', 'hash' } -- nodes, state, ends, blocks, seen, moved, macs

local function isBeat(keys, args)
  if #keys ~= 7 or #args ~= 6 or args[4] ~= '-1' and not whole(args[4], 2 ^ 53) or not find(args[6], '^[0-9a-f]*$') then return false end
  return #args[2] <= 1024 and whole(args[3], 2 ^ 31)
end

-- beat: KEYS nodes, state, ends, blocks, seen, moved, macs; ARGV field, text,
-- partitions, the membership version that the node knows (0 for the whole list,
-- -1 for nothing), 1 if what it says of itself changed, and the run that is in
-- its texts. An empty field only asks; an empty text is a farewell. The answer
-- begins with second and microsecond of TIME, version, digest ('' while ended
-- records wait to be removed), the second by which all that had ended are
-- removed, tip, birth. The birth is the time of the first beat since the namespace
-- was empty: where it changes, all that was there is lost.
local function beat(keys, args)
  if not call then bind() end
  if not isBeat(keys, args) then
    return fail('arguments: beat takes nodes, state, ends, blocks, seen, moved and macs, a field, a text of at most 1024 bytes, partitions, a membership version, whether it changed, and a run')
  end
  local wrong = mistyped(keys, BEATS)
  if wrong then return wrong end
  local state, time = keys[2], call('TIME')
  local second = tonumber(time[1])
  local known = call('HMGET', state, 'version', 'tip', 'partitions', 'born')
  if #(known[2] or '') > SHORT or #(known[4] or '') > SHORT then
    call('HDEL', state, 'tip', 'born')
    known = call('HMGET', state, 'version', 'tip', 'partitions', 'born')
  end
  if not (known[3] and known[4]) then
    call('HSETNX', state, 'partitions', args[3])
    call('HSETNX', state, 'born', time[1] .. '.' .. time[2])
    known = call('HMGET', state, 'version', 'tip', 'partitions', 'born')
  end
  if known[3] ~= args[3] then return fail('partitions ', sub(known[3], 1, SHORT)) end
  local all, digest = removeEnded(keys[4], keys[3], state, second, keys[7]), ''
  if all then
    local words = digestOf(state)
    digest = format('%08x%08x', words[1], words[2])
  end
  local out = { second, tonumber(time[2]), number(known[1], 2 ^ 53), digest, second, known[2] or '', known[4] }
  return members(keys, args, out, second)
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
  local wrong = mistyped(keys, { 'hash' })
  if wrong then return wrong end
  local words, version = digestOf(keys[1]), number(call('HGET', keys[1], 'version'), 2 ^ 53)
  if version ~= tonumber(args[1]) or format('%08x%08x', words[1], words[2]) ~= args[2] then return 0 end
  setDigest(keys[1], { tonumber(sub(args[3], 1, 8), 16), tonumber(sub(args[3], 9), 16) })
  return 1
end

-- shrink: KEYS blocks or macs; ARGV a cursor. Drops those of some fields that are
-- longer than any of a fleet: to read them takes longer than a node waits, and a call
-- goes on when its node has left. Answers with the next cursor, 0 at the end.
local function shrink(keys, args)
  if not call then bind() end
  if #keys ~= 1 or #args ~= 1 or not find(args[1], '^%d+$') or #args[1] > 20 then
    return fail('arguments: shrink takes blocks or macs, and a cursor')
  end
  local wrong = mistyped(keys, { 'hash' })
  if wrong then return wrong end
  local got = call('HSCAN', keys[1], args[1], 'COUNT', SAMPLE)
  for i = 1, #got[2], 2 do
    if #got[2][i] > SHORT or #got[2][i + 1] > LONGEST then call('HDEL', keys[1], got[2][i]) end
  end
  return got[1]
end

redis.register_function('edgeguard1_shrink', shrink)
redis.register_function('edgeguard1_repair', repair)
redis.register_function('edgeguard1_publish', publish)
redis.register_function('edgeguard1_replace', replace)
redis.register_function('edgeguard1_beat', beat)
