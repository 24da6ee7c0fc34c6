-- Takes the oldest entries from the list of aging pages and removes those cells that nothing holds.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] the list, KEYS[2 + i] the hash of page i
-- ARGV[1] of each page in the order of the list its rank (6 bytes) and handle (8)
-- A cell is removed if it still has that rank and its flags, the byte after it, are below 2.
local call, sub, byte, unpack_struct = redis.call, string.sub, string.byte, struct.unpack
local HEAD, PAGE, NAMED = 10, 14, 14
local named = ARGV[1]
local page_count = #named / NAMED

-- Whether the pages of an entry are those named from the first on.
local function is_named(entry, first)
  local rank = unpack_struct('>I6', entry, 5)
  for at = HEAD + 1, #entry, PAGE do
    local own = first * NAMED + 1
    if rank + unpack_struct('>I2', entry, at) ~= unpack_struct('>I6', named, own)
        or sub(entry, at + 2, at + 9) ~= sub(named, own + 6, own + 13) then
      return false
    end
    first = first + 1
  end
  return true
end

local swept, first = 0, 0
while first < page_count do
  local entry = call('LRANGE', KEYS[2], swept, swept)[1]
  local count = entry and (#entry - HEAD) / PAGE
  if not entry or first + count > page_count or not is_named(entry, first) then
    break
  end
  for page = first, first + count - 1 do
    local own = page * NAMED + 1
    local handle = sub(named, own + 6, own + 13)
    local cell = call('HGET', KEYS[3 + page], handle)
    if cell and byte(cell, 7) < 2 and sub(cell, 1, 6) == sub(named, own, own + 5) then
      call('HDEL', KEYS[3 + page], handle)
    end
  end
  swept, first = swept + 1, first + count
end
if swept > 0 then
  call('LTRIM', KEYS[2], swept, -1)
  call('HINCRBY', KEYS[1], 'swept', swept)
end
