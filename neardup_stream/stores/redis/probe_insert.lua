-- Probes the bucket of each entry, then inserts its member, in order; or only probes.
--
-- KEYS     the bucket of each entry, or, where one server has all of them, only the first: a name takes less
--          time in ARGV[7]
-- ARGV[1]  distance_bits  ARGV[2] bucket_cap; of an oversized bucket, which is larger: ARGV[3] members considered,
--          ARGV[4] of one suffix, ARGV[5] pages reported of all the oversized buckets that a page meets
-- ARGV[6]  "1" to insert
-- ARGV[7]  the entries, of one size each, integers big-endian, those of a page one behind the other:
--          suffix_bytes (1) | last bytes of the suffix (2) | handle (8) | version byte (1)
--          and, where KEYS does not name the buckets: size of the name (1), the name, zeros
-- ARGV[8]  bytes of an entry
-- ARGV[9]  of each entry with suffix_bytes, one behind the other: "[" and low suffix | "[", high suffix, and 9 bytes
--          255 | suffix, handle, version byte; a suffix has suffix_bytes bytes, and zeros before it, or before its
--          "[", as if it had 8
-- returns  { found, truncated, cap_hits, done, work }; found is packed (entry (4), suffix (8), handle (8),
--          version byte (1)) for each member that is reported, truncated is packed (entry (4)); entries are counted
--          from 0; done is how many were probed: one, and more until they come to @WORK@ units of work;
--          work is how many units they came to
--
-- Where only equal suffixes match, suffix_bytes is 0 and the bucket is a hash: the suffix, in two bytes, is the field,
-- and its value all members (handle, version byte) that have it, the oldest first. A word that no page has yet
-- is so probed and inserted at once; behind one that a page has, the next one of its page is read first: most
-- likely that page has it too. Of an oversized bucket, bucket_cap + 1 are kept.
--
-- Else the bucket is a sorted set of (suffix in suffix_bytes, handle, version byte). All have equal scores, so it is
-- ordered by bytes; big-endian suffixes make byte order numeric order.
local distance_bits, cap = tonumber(ARGV[1]), tonumber(ARGV[2])
local considered_limit, same_suffix_limit, page_limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local inserts, entries, stride, bounds = ARGV[6] == '1', ARGV[7], tonumber(ARGV[8]), ARGV[9]
local call, byte, sub, bxor = redis.call, string.byte, string.sub, bit.bxor
local pack, unpack_struct = struct.pack, struct.unpack

-- Number of set bits of each byte value: a literal, because building a table costs more than the probes.
local ONES = '@ONES@'
-- Above every handle and version: makes a bound the last member of its suffix.
local LAST = '\255\255\255\255\255\255\255\255\255'
local ZEROS = '\0\0\0\0\0\0\0\0'
-- Bytes of an entry up to its version byte, and of what ARGV[9] has of one.
local ENTRY, BOUNDS = 12, 44
-- Bytes of a member of a word, and of a full word.
local TAIL, FULL = 9, 9 * (cap + 1)
-- How many members of a range are read at first. A string, because Redis prints a number with 17 digits, at a
-- fifth of a command's cost.
local PAGE, LIMIT = 16, '16'

local found, truncated, cap_hits = {}, {}, 0

-- One unit takes Redis about a microsecond: one for a member that is read, some for an entry.
local ENTRY_WORK, work = 4, 0

-- What the oversized buckets of the page with this handle have given so far, by handle and version byte.
local page, known, known_count = '', {}, 0

-- Whether a member is one too many of what oversized buckets give a page; else it is known from now on.
local function is_beyond(handle, tail)
  if handle ~= page then
    page, known, known_count = handle, {}, 0
  end
  if not known[tail] then
    if known_count == page_limit then
      return true
    end
    known[tail], known_count = true, known_count + 1
  end
  return false
end

-- Whether oversized buckets have given this page all they may.
local function is_served(handle)
  return known_count == page_limit and handle == page
end

local function truncate(number, is_capped)
  truncated[#truncated + 1] = number
  cap_hits = cap_hits + (is_capped and 1 or 0)
end

-- Samples the members of a full word.
local function sample_word(stored, number, head, handle)
  local considered = 0
  for at = 1, #stored, TAIL do
    work = work + 1
    local tail = sub(stored, at, at + TAIL - 1)
    if sub(tail, 1, 8) ~= handle then
      if considered == same_suffix_limit then
        return truncate(number, false)
      end
      if considered == considered_limit or is_beyond(handle, tail) then
        return truncate(number, true)
      end
      considered = considered + 1
      found[#found + 1] = head .. tail
    end
  end
end

-- Reports the members of a word but for the page's own, and adds the page's if it is not there.
local function meet_members(key, word, stored, head, tail, handle)
  local is_there = false
  work = work + #stored / TAIL
  for at = 1, #stored, TAIL do
    local other = sub(stored, at, at + TAIL - 1)
    if other == tail then
      is_there = true
    elseif sub(other, 1, 8) ~= handle then
      found[#found + 1] = head .. other
    end
  end
  if inserts and not is_there then
    call('HSET', key, word, stored .. tail)
  end
end

-- Samples a full word. One page in @TURNOVER@ replaces the oldest member.
local function probe_oversized(key, word, stored, number, head, tail, handle)
  if is_served(handle) then
    truncate(number, true)
  else
    sample_word(stored, number, head, handle)
  end
  if inserts and byte(tail, 8) % @TURNOVER@ == 0 and not string.find(stored, tail, 1, true) then
    call('HSET', key, word, sub(stored, TAIL + 1) .. tail)
  end
end

-- Reads a word, reports its members and adds the page's; returns whether a page has it.
local function meet_word(key, index, word, tail)
  local stored = call('HGET', key, word)
  if stored then
    local number, handle = pack('>I4', index), sub(tail, 1, 8)
    local head = number .. sub(ZEROS, 3) .. word
    if #stored < FULL then
      meet_members(key, word, stored, head, tail, handle)
    else
      probe_oversized(key, word, stored, number, head, tail, handle)
    end
    return true
  end
  if inserts then
    call('HSET', key, word, tail)
  end
  return false
end

-- The members of a range from low to high, or the first ones of an oversized bucket; and whether it is one.
-- Nothing is read of an oversized bucket that is not wanted.
local function read(key, low, high, is_wanted)
  local near = {}
  if is_wanted then
    near = call('ZRANGE', key, low, high, 'BYLEX', 'LIMIT', '0', LIMIT)
    if #near < PAGE then
      return near, #near > cap
    end
  end
  if call('ZLEXCOUNT', key, low, high) > cap then
    return near, true
  end
  return call('ZRANGE', key, low, high, 'BYLEX'), false
end

-- Whether a member's suffix is within the distance of these bytes. From the last: a range shares the first ones.
local function is_near(mine, other)
  local distance = 0
  for b = #mine, 1, -1 do
    local its = byte(other, b)
    if its ~= mine[b] then
      distance = distance + byte(ONES, bxor(its, mine[b]) + 1)
      if distance > distance_bits then
        return false
      end
    end
  end
  return true
end

-- Reports those members of a range that are near and not the page's own.
local function report_range(near, head, mine, handle)
  work = work + #near
  local tail_at, tail_end = #mine + 1, #mine + 8
  for j = 1, #near do
    local other = near[j]
    if is_near(mine, other) and sub(other, tail_at, tail_end) ~= handle then
      found[#found + 1] = head .. other
    end
  end
end

-- Samples a range of which `near` are the first members.
local function sample_range(key, near, number, head, mine, handle, high)
  local suffix_bytes, run_suffix, run, considered, is_truncated = #mine, nil, 0, 0, false
  while near[1] do
    local count = #near
    local resume = near[count]
    work = work + count
    for j = 1, count do
      local other = near[j]
      local suffix, tail, matches = sub(other, 1, suffix_bytes), sub(other, suffix_bytes + 1), is_near(mine, other)
      if not matches or sub(tail, 1, 8) ~= handle then
        if suffix ~= run_suffix then
          run_suffix, run = suffix, 0
        end
        run = run + 1
        if run > same_suffix_limit then
          is_truncated = is_truncated or matches
          if count == PAGE then
            resume = suffix .. LAST
            break
          end
        elseif considered == considered_limit or (matches and is_beyond(handle, tail)) then
          return truncate(number, true)
        else
          considered = considered + 1
          if matches then
            found[#found + 1] = head .. other
          end
        end
      end
    end
    if count < PAGE then
      break
    end
    near = call('ZRANGE', key, '(' .. resume, high, 'BYLEX', 'LIMIT', '0', LIMIT)
  end
  if is_truncated then
    truncate(number, false)
  end
end

-- How `unpack_struct` reads what ARGV[9] has of an entry, by suffix_bytes.
local formats, bounds_at = {}, 1

local function bounds_format(suffix_bytes)
  local zeros = string.rep('x', 8 - suffix_bytes)
  local low, high, member = 'c' .. suffix_bytes + 1, 'c' .. suffix_bytes + 10, 'c' .. suffix_bytes + 9
  local format = zeros .. low .. zeros .. high .. zeros .. member
  formats[suffix_bytes] = format
  return format
end

local function meet_range(key, index, suffix_bytes, tail)
  local format = formats[suffix_bytes] or bounds_format(suffix_bytes)
  local low, high, member = unpack_struct(format, bounds, bounds_at)
  bounds_at = bounds_at + BOUNDS
  local handle = sub(tail, 1, 8)
  local near, is_oversized = read(key, low, high, not is_served(handle))
  if is_oversized or near[1] then
    -- A reported suffix has 8 bytes: what of it no member holds stands before the member.
    local number, mine = pack('>I4', index), { byte(member, 1, suffix_bytes) }
    local head = number .. sub(ZEROS, suffix_bytes + 1)
    if not is_oversized then
      report_range(near, head, mine, handle)
    elseif is_served(handle) then
      truncate(number, true)
    else
      sample_range(key, near, number, head, mine, handle, high)
    end
  end
  if inserts then
    call('ZADD', key, '0', member)
  end
end

local done, count, was_there = 0, #entries / stride, false
local is_named = stride > ENTRY
local format = is_named and 'Bc2c9Bc0' or 'Bc2c9'
while done < count and work < @WORK@ do
  local suffix_bytes, word, tail, key = unpack_struct(format, entries, done * stride + 1)
  if not is_named then
    key = KEYS[done + 1]
  end
  if suffix_bytes > 0 then
    meet_range(key, done, suffix_bytes, tail)
    was_there = false
  elseif was_there or not inserts or call('HSETNX', key, word, tail) == 0 then
    was_there = meet_word(key, done, word, tail)
  end
  done, work = done + 1, work + ENTRY_WORK
end

return { table.concat(found), table.concat(truncated), cap_hits, done, work }
