-- Removes each page record that is still what its writer saw, raises its slot's version floor and remembers
-- that the handle had a record. See records.py for what stands under the empty field.
-- KEYS[i] is the hash of drop i; ARGV[1] the handles, 8 bytes each; then two for each drop: what the writer
-- saw, empty for nothing; the floor that it asks for. The last one: how many handles a slot remembers.
-- Returns 1 where the record is gone, now or since an earlier run of this call, else 0.
local most = tonumber(ARGV[#ARGV])

-- What a slot remembers of dropped handles, and the last two bytes of one more.
local function with_handle(dropped, last)
  if dropped == '*' then
    return dropped
  end
  local found = string.find(dropped, last, 2, true)
  while found and found % 2 == 1 do
    found = string.find(dropped, last, found + 1, true)
  end
  if found then
    return dropped
  end
  return #dropped - 1 < 2 * most and dropped .. last or '*'
end

local gone = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, floor = ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local now, slot = unpack(redis.call('HMGET', KEYS[i], handle, ''))
  local digits, dropped = string.match(slot or '0:', '^(%d+)(.*)$')
  local stands = tonumber(digits)
  local is_gone = now == seen or (not now and (seen == '' or stands >= floor))
  if is_gone then
    local left = string.format('%.0f', math.max(floor, stands)) .. with_handle(dropped, string.sub(handle, 7))
    -- First what is left: a hash that is empty between, in a slot that moves to another node, cannot be written.
    if left ~= slot then
      redis.call('HSET', KEYS[i], '', left)
    end
    if now then
      redis.call('HDEL', KEYS[i], handle)
    end
  end
  gone[i] = is_gone and 1 or 0
end
return gone
