#!lua name=edgeguard1

-- What a fleet of edgeguard nodes keeps in Redis, and the only code that writes
-- it. Package internal/redistwin says the same in Go, to be read; here it is also
-- fast. Redis 7 or Valkey. Every key that a function touches is among its KEYS,
-- and all of one call share a hash tag, so that a Cluster can spread them.
--
-- Arguments and the types of the keys are checked before anything is written: a
-- call either fails with EDGEGUARD and a reason, or is carried out whole. Redis
-- takes back nothing of what a function wrote before it failed.
--
-- A node's user may also write to these keys without a function. So nothing here
-- protects against that user; but what it wrote once must not make calls fail
-- from then on. What cannot be read is taken for absent.

-- While a library is loaded Redis shows it nothing but register_function, and
-- later each look at a global is a detour: bind fetches what is needed once,
-- at the first call.
local call, try, byte, char, find, match, sub, concat, format, floor, max, min, pack, unpack, values
local EMPTY, FRESH, NODE
local ZEROS = {}
local PAIRS = {} -- how struct reads and writes n slots of two bytes

-- A suspect is a hash: field f is the fleet's ring, and each field of eight
-- bytes is a node's. A ring is
--
--   cell (1)  head (4)  floor (4, in f only)  slots (KEPT)  total (3)
--
-- cell is the bytes of a slot: 1 until one of them counts more than 255, then
-- 2. The slots stand oldest first, the last is head; total is the sum of the
-- newest WINDOW. Those below the floor were forgotten. Integers are big-endian.
--
-- Why so: what a push changes stands at the end, so that it cuts a tail off and
-- writes another; the running total spares adding up the rest. One string with
-- all rings in it would have every push read and write all nodes'.
local KEPT, WINDOW = 68, 60
local LATE = KEPT - WINDOW
local F, N = 9, 5  -- the bytes before the slots, of the fleet's ring and of a node's
local MOST = 65535 -- where a slot of the fleet stops
local LIFE = 70    -- slots for which a suspect outlives the last move of its head
local ROOM = { 255, MOST } -- what a cell of so many bytes holds
local RINGS, OWNS = { F + KEPT + 3, F + 2 * KEPT + 3 }, { N + KEPT + 3, N + 2 * KEPT + 3 } -- bytes of a ring, by cell
local CLAIMED = 600 -- the same in seconds, where nodes say what time it is
local AHEAD = 5    -- seconds by which a node's clock may be ahead of the server's

local function bind()
  call, try = redis.call, redis.pcall
  byte, char, find, match, sub = string.byte, string.char, string.find, string.match, string.sub
  floor, max, min, concat, format = math.floor, math.max, math.min, table.concat, string.format
  pack, unpack, values = struct.pack, struct.unpack, _G.unpack
  for n = 1, KEPT do PAIRS[n], ZEROS[n] = '>' .. ('H'):rep(n), 0 end
  EMPTY = ('\0'):rep(2 * KEPT)
  NODE = '\1' .. ('\0'):rep(N - 1 + KEPT + 3)
  FRESH = '\1' .. ('\0'):rep(F - 1 + KEPT + 3)
end

local function fail(...)
  return redis.error_reply('EDGEGUARD ' .. concat({ ... }))
end

-- whole reports whether text is a whole number below a bound.
local function whole(text, bound)
  return text and find(text, '^%d+$') and #text <= 16 and tonumber(text) < bound
end

-- otherType reports whether a reply is the error for a key of another type.
local function otherType(reply)
  return type(reply) == 'table' and reply.err and find(reply.err, 'WRONGTYPE', 1, true)
end

-- sound reports whether text is a ring, of slots from at + 1 on.
local function sound(text, at)
  local cell = text and byte(text)
  return (cell == 1 or cell == 2) and #text == at + cell * KEPT + 3
end

-- cells reads n slots of a ring from its i-th on, those behind its last as 0;
-- written is the reverse. Both move all slots in one call: slot by slot, a whole
-- push took three times as long. Of two bytes, the table has the next position
-- behind the slots.
local function cells(ring, at, cell, i, n)
  local held = min(n, KEPT + 1 - i)
  if held < 1 then return { values(ZEROS, 1, n) } end
  local counts
  if cell == 1 then
    counts = { byte(ring, at + i, at + i + held - 1) }
  else
    counts = { unpack(PAIRS[held], ring, at + 2 * i - 1) }
  end
  for j = held + 1, n do counts[j] = 0 end
  return counts
end

local function written(counts, n, cell)
  if cell == 1 then return char(values(counts, 1, n)) end
  return pack(PAIRS[n], values(counts, 1, n))
end

-- sum adds up the slots from first to last; those not held count 0.
local function sum(ring, at, cell, head, first, last)
  first, last = max(first, head - KEPT + 1), min(last, head)
  local n, all = last - first + 1, 0
  if n < 1 then return 0 end
  local counts = cells(ring, at, cell, first - head + KEPT, n)
  for i = 1, n do all = all + counts[i] end
  return all
end

local function total(ring)
  local a, b, c = byte(ring, -3, -1)
  return a * 65536 + b * 256 + c
end

-- ending is the total of the window that ends at a slot, be it after the head.
local function ending(ring, at, cell, head, last)
  if last == head then return total(ring) end
  if last < head then return sum(ring, at, cell, head, last - WINDOW + 1, last) end
  if last - head >= WINDOW then return 0 end
  local all = total(ring)
  if all > 0 then all = all - sum(ring, at, cell, head, head - WINDOW + 1, last - WINDOW) end
  return all
end

-- renew moves a ring's head on by some steps and writes n slots, the last of
-- which is the new head unless it does not move, and the total. In one piece:
-- each string that is made on the way costs as much as all arithmetic.
local function renew(ring, at, cell, top, steps, from, n, counts, total)
  local before = from - top + KEPT - 1 -- the slots before those that are written
  local held = max(min(before, KEPT - steps), 0)
  local low = at + steps * cell
  return pack('>BI4', cell, top) .. sub(ring, 6, at)
    .. sub(ring, low + 1, low + held * cell) .. sub(EMPTY, 1, (before - held) * cell)
    .. (n > 0 and written(counts, n, cell) or '')
    .. sub(ring, at + (before + n) * cell + 1, at + KEPT * cell) .. pack('>I3', total)
end

-- widen makes two bytes of every slot, narrow one of two where that is enough.
local function widen(ring, at)
  return '\2' .. sub(ring, 2, at) .. written(cells(ring, at, 1, 1, KEPT), KEPT, 2) .. sub(ring, -3)
end

local function narrow(ring, at)
  local counts = cells(ring, at, 2, 1, KEPT)
  if max(values(counts, 1, KEPT)) > 255 then return ring end
  return '\1' .. sub(ring, 2, at) .. written(counts, KEPT, 1) .. sub(ring, -3)
end

-- peakOf is the greatest total of the windows that end at one of the fleet's
-- last steps slots or just before them; all is that of the newest.
local function peakOf(fleet, cell, steps, all)
  -- Mostly nothing is left of the slots before a window's: no total is greater.
  if steps < 1 or sub(fleet, F + 1, F + LATE * cell) == sub(EMPTY, 1, LATE * cell) then return all end
  local new, old = cells(fleet, F, cell, KEPT - steps + 1, steps), cells(fleet, F, cell, LATE - steps + 1, steps)
  local peak = all
  for i = steps, 1, -1 do
    all = all - new[i] + old[i]
    if all > peak then peak = all end
  end
  return peak
end

-- compare answers a reconcile, a push of one empty slot: by what is stored, which
-- stays as it is. It returns nothing where the two are not rings.
local function compare(ring, mine, body)
  local last, claimed = unpack('>I4I4', body)
  local cell, head, bottom = unpack('>BI4I4', ring)
  local mineCell, mineHead = unpack('>BI4', mine)
  if #ring ~= RINGS[cell] or #mine ~= OWNS[mineCell] then return end
  local all = ending(ring, F, cell, head, last)
  local peak = last < head and peakOf(ring, cell, min(head - last, LATE), total(ring)) or all
  local own = mineHead > head and 0 or ending(mine, N, mineCell, mineHead, last)
  local status = own < claimed and 1 or own > claimed and 8 or 0
  if bottom > last - WINDOW then status = status + 4 end
  return pack('>BI4I4I4', status, peak, all, bottom)
end

-- newest reads the last slot of a ring, and its total.
local function newest(ring, cell)
  if cell == 1 then
    local last, a, b, c = byte(ring, -4, -1)
    return last, a * 65536 + b * 256 + c
  end
  local high, low, a, b, c = byte(ring, -5, -1)
  return high * 256 + low, a * 65536 + b * 256 + c
end

-- grown is a ring with another last slot, which fits its cell, and total.
local function grown(ring, cell, last, total)
  local a, b, c = floor(total / 65536) % 256, floor(total / 256) % 256, total % 256
  if cell == 1 then return sub(ring, 1, -5) .. char(last, a, b, c) end
  return sub(ring, 1, -6) .. char(floor(last / 256), last % 256, a, b, c)
end

-- raise is merge for what nine pushes of ten are where ten go out in a slot: one
-- slot, the newest of both rings, whose cells have room for it. It returns
-- nothing if they have not.
local function raise(ring, cell, mine, mineCell, body, claimed, head, bottom)
  local high, low = byte(body, 9, 10)
  local known, own = newest(mine, mineCell)
  local sum, all = newest(ring, cell)
  local more = high * 256 + low - known
  if more > 0 then
    if known + more > ROOM[mineCell] or sum + more > ROOM[cell] then return end
    own, all = own + more, all + more
    mine, ring = grown(mine, mineCell, known + more, own), grown(ring, cell, sum + more, all)
  end
  local status = own < claimed and 1 or own > claimed and 8 or 0
  if bottom > head - WINDOW then status = status + 4 end
  return ring, mine, pack('>BI4I4I4', status, all, all, bottom)
end

-- lift raises n known slots of a node's, the first of them from, to what was
-- pushed. Those up to the old-th are before the node's window. It gives the
-- fleet's slots after it (nothing if none changed), the greatest that changed
-- and by how much the fleet's total grew, then the same two of the node's. The
-- fleet's ring still has the head old; top is the one that it will have.
local function lift(pushed, known, n, old, fleet, cell, head, top, from)
  local sums, most, more, mineMost, mineMore = nil, 0, 0, 0, 0
  local before = top - WINDOW - from + 1 -- as old, of the fleet's window
  for i = 1, n do
    local count, grown = pushed[i], known[i]
    if count > grown then
      grown = count - grown
      if i > old then mineMore = mineMore + grown end
      sums = sums or cells(fleet, F, cell, from - head + KEPT, n)
      local sum = sums[i] + grown
      if sum > MOST then grown, sum = grown - sum + MOST, MOST end
      if i > before then more = more + grown end
      known[i], sums[i] = count, sum
      if sum > most then most = sum end
      if count > mineMost then mineMost = count end
    end
  end
  return sums, most, more, mineMost, mineMore
end

-- merge takes one push into the fleet's ring and the node's: a slot of the
-- node's becomes the greater of what it is and what was pushed, and the fleet's
-- moves by the difference. It returns both rings, the answer, and the fleet's
-- head before and after. latest is the last slot that is not refused as from
-- the future. It returns nothing where no function can have written the rings:
-- they are not rings, the node's is ahead of the fleet's, or the fleet's is beyond the
-- last slot that it can have reached.
local function merge(ring, mine, body, latest, reached)
  local first, claimed = unpack('>I4I4', body)
  local last = first + (#body - 8) / 2 - 1
  local cell, before, bottom = unpack('>BI4I4', ring)
  local mineCell, mineBefore = unpack('>BI4', mine)
  if #ring ~= RINGS[cell] or #mine ~= OWNS[mineCell] then return end
  if first == before and first == last and first == mineBefore and first <= latest and first >= bottom then
    local fleet, node, answer = raise(ring, cell, mine, mineCell, body, claimed, before, bottom)
    if fleet then return fleet, node, answer, before, before end
  end
  if mineBefore > before or before > reached then return end
  local top, head, mineHead = min(last, latest), before, mineBefore
  if first <= top and top > head then head = top end
  local from = max(first, bottom, head - KEPT + 1)
  if from <= top and top > mineHead then mineHead = top end
  local all, own = ending(ring, F, cell, before, head), ending(mine, N, mineCell, mineBefore, mineHead)

  local n, sums = top - from + 1, nil
  if n > 0 then
    local pushed, known, most, more, mineMost, mineMore = { unpack(PAIRS[n], body, 2 * (from - first) + 9) }, nil, 0, 0, 0, 0
    if ring == FRESH and mine == NODE then
      for i = 1, n do more = more + pushed[i] end
      known, sums, most, mineMore = pushed, pushed, max(values(pushed, 1, n)), more
      mineMost = most
    else
      known = cells(mine, N, mineCell, from - mineBefore + KEPT, n)
      sums, most, more, mineMost, mineMore = lift(pushed, known, n, mineHead - WINDOW - from + 1, ring, cell, before, head, from)
    end
    own, all = own + mineMore, all + more
    if mineMost > 255 and mineCell == 1 then mine, mineCell = widen(mine, N), 2 end
    if most > 255 and cell == 1 then ring, cell = widen(ring, F), 2 end
    if sums or mineHead > mineBefore then
      mine = renew(mine, N, mineCell, mineHead, mineHead - mineBefore, from, n, known, own)
    end
  end
  if sums then
    ring = renew(ring, F, cell, head, head - before, from, n, sums, all)
  elseif head > before then
    ring = renew(ring, F, cell, head, head - before, head + 1, 0, nil, all)
  end

  local peak = peakOf(ring, cell, min(head - first, LATE), all)
  if head ~= last then all = sum(ring, F, cell, head, last - WINDOW + 1, last) end
  if mineHead ~= last then own = sum(mine, N, mineCell, mineHead, last - WINDOW + 1, last) end
  local status = own < claimed and 1 or own > claimed and 8 or 0
  if last > top or first < head - KEPT + 1 then status = status + 2 end
  if bottom > last - WINDOW then status = status + 4 end
  return ring, mine, pack('>BI4I4I4', status, peak, all, bottom), before, head
end

-- tidy drops the nodes none of whose slots are kept any more, and takes one
-- byte a slot again where that is enough. To drop a node as soon as its slots
-- have left the window would be wrong: a late push to one of the LATE slots
-- before it would be counted twice.
local function tidy(key, head)
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local at, cell, last = all[i] == 'f' and F or N, nil, nil
    if sound(all[i + 1], at) then cell, last = unpack('>BI4', all[i + 1]) end
    if not cell or last <= head - KEPT or last > head then
      call('HDEL', key, all[i])
    elseif cell == 2 then
      call('HSET', key, all[i], narrow(all[i + 1], at))
    end
  end
end

-- push: KEYS clock, suspect…; ARGV header, body….
local function push(keys, args)
  if not call then bind() end
  local n = #keys - 1
  if n < 1 or n > 200 or #args ~= n + 1 then
    return fail('arguments: push takes the clock and 1 to 200 suspects, a header and a body for each')
  end
  if #args[1] ~= 20 then return fail('header of ', #args[1], ' bytes: not 20') end
  local id, now, width = unpack('>c8I8I4', args[1])
  if width == 0 or now > 2 ^ 53 then return fail('header: width ', width, ', now ', now) end
  for i = 2, n + 1 do
    local body = args[i]
    local slots = (#body - 8) / 2
    if slots < 1 or slots > WINDOW or slots % 1 ~= 0 then
      return fail('body ', i - 1, ' of ', #body, ' bytes: not 1 to 60 slots')
    end
    if byte(body) == 255 and unpack('>I4', body) + slots > 2 ^ 32 then return fail('body ', i - 1, ' runs past the last slot') end
  end
  local time, ttl, claimed = now, CLAIMED, try('GET', keys[1]) == 'claimed'
  if not claimed then
    local clock = call('TIME')
    time = clock[1] * 1000 + floor(clock[2] / 1000)
    ttl = LIFE * width
    if now - time > 5000 or time - now > 5000 then return fail('clock ', format('%.0f', time)) end
  end
  local latest, out = floor(time / 1000 / width) + 1, {}
  local reached = claimed and 2 ^ 32 or latest + KEPT -- Redis' clock may have gone back
  for i = 2, n + 1 do
    local key = keys[i]
    local rings, body = try('HMGET', key, 'f', id), args[i]
    if rings.err and not otherType(rings) then return rings end
    local was, had = rings[1], rings[2]
    local lost = rings.err or (was or had) and not (was and #was >= RINGS[1] and (not had or #had >= OWNS[1]))
    if lost or not was then was, had = FRESH, NODE else had = had or NODE end
    if #body == 10 and sub(body, 9) == '\0\0' then
      out[i - 1] = compare(was, had, body) or compare(FRESH, NODE, body)
    else
      local fleet, node, answer, before, head = merge(was, had, body, latest, reached)
      if not fleet then
        lost, was, had = true, FRESH, NODE
        fleet, node, answer, before, head = merge(was, had, body, latest, reached)
      end
      if lost then call('DEL', key) end -- the other nodes' rings were of another fleet's ring
      if node ~= had then
        call('HSET', key, 'f', fleet, id, node)
      elseif fleet ~= was then
        call('HSET', key, 'f', fleet)
      end
      if head > before then
        call('EXPIRE', key, ttl)
        if before > 0 and floor(before / WINDOW) ~= floor(head / WINDOW) then tidy(key, head) end
      end
      out[i - 1] = answer
    end
  end
  return concat(out)
end

-- slots are those of a node's in the window that ends at a slot, oldest first, in as many
-- bytes each as the ring has. They are cut from it as they stand: to add them up would cost more.
local function slots(ring, cell, head, last)
  local i = last - WINDOW - head + KEPT -- the slots of the ring before them
  if i >= 0 and i + WINDOW <= KEPT then return sub(ring, N + i * cell + 1, N + (i + WINDOW) * cell) end
  local out = sub(ring, N + max(i, 0) * cell + 1, N + max(min(i + WINDOW, KEPT), 0) * cell)
  if i < 0 then out = sub(EMPTY, 1, min(-i, WINDOW) * cell) .. out end
  return out .. sub(EMPTY, 1, WINDOW * cell - #out)
end

-- split: KEYS suspect; ARGV slot, and maybe 'slots'. Who counted what in the window
-- that ends at the slot: id, count, id, count…, or the slots in place of each count. So
-- a node knows, too, what will be left of it in later windows if nothing more comes.
local function split(keys, args)
  if not call then bind() end
  if #keys ~= 1 or #args < 1 or #args > 2 or not whole(args[1], 2 ^ 32) or args[2] and args[2] ~= 'slots' then
    return fail('arguments: split takes a suspect, a slot and maybe the word slots')
  end
  local all, last, out = try('HGETALL', keys[1]), tonumber(args[1]), {}
  if all.err and not otherType(all) then return all end
  for i = 1, #all, 2 do
    if all[i] ~= 'f' and sound(all[i + 1], N) then
      local cell, head = unpack('>BI4', all[i + 1])
      local n
      if args[2] then
        n = slots(all[i + 1], cell, head, last)
        if n == sub(EMPTY, 1, #n) then n = nil end
      else
        n = ending(all[i + 1], N, cell, head, last)
        if n == 0 then n = nil end
      end
      if n then
        out[#out + 1] = all[i]
        out[#out + 1] = n
      end
    end
  end
  return out
end

-- forget: KEYS suspect…; ARGV floor, width, and maybe a bad floor. Drops what was
-- counted, and has slots below the floor ignored. Every node that hears of an
-- unblock calls it: a suspect whose floor is there already stays as it is, with
-- what was counted since. Of a floor in the future the server's own time is set,
-- with the tolerance of pushes: the clock of the node that unblocked may be ahead,
-- and a mistaken call keeps no key at 0 for long. With a bad floor, which no
-- unblock explains, only suspects that have exactly that are emptied, and the
-- floor may be lower. The fleet's head stays, since it never goes back; a suspect
-- that is not there is made, to hold the floor. Answers with the number of keys
-- emptied.
local function forget(keys, args)
  if not call then bind() end
  if #keys < 1 or #args < 2 or #args > 3 or not whole(args[1], 2 ^ 32) or not whole(args[2], 2 ^ 32) or tonumber(args[2]) == 0
      or args[3] and not whole(args[3], 2 ^ 32) then
    return fail('arguments: forget takes suspects, a floor, a width and maybe a bad floor')
  end
  local emptied, bad, second = 0, args[3] and tonumber(args[3]), call('TIME')[1]
  local bottom = min(tonumber(args[1]), floor((second + AHEAD) / args[2]) + 2)
  local reached = second / args[2] + KEPT + 1
  for _, key in ipairs(keys) do
    local ring = try('HGET', key, 'f')
    if type(ring) == 'table' and not otherType(ring) then return ring end
    local _, head, stands = unpack('>BI4I4', type(ring) == 'string' and sound(ring, F) and ring or FRESH)
    if head > reached then head, stands = 0, 0 end
    if bad and stands == bad or not bad and stands < bottom then
      call('DEL', key)
      call('HSET', key, 'f', pack('>BI4I4', 1, head, bottom) .. sub(FRESH, F + 1))
      call('EXPIRE', key, LIFE * args[2])
      emptied = emptied + 1
    end
  end
  return emptied
end

redis.register_function('edgeguard1_push', push)
redis.register_function({ function_name = 'edgeguard1_split', callback = split, flags = { 'no-writes' } })
redis.register_function('edgeguard1_forget', forget)
