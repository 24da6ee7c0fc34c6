-- Removes each page record that is still what its writer saw, raises its slot's version floor and remembers
-- that the handle had a record. See redis_records for what stands under the empty field.
-- KEYS[i] is the hash of drop i; ARGV[1] the handles, 8 bytes each; then two for each drop: what the writer
-- saw, empty for nothing; the floor that it asks for. The last one: how many handles a slot remembers.
-- Returns 1 where the record is gone, now or since an earlier run of this call, else 0.
local most = tonumber(ARGV[#ARGV])
local gone = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, floor = ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local now, slot = unpack(redis.call('HMGET', KEYS[i], handle, ''))
  slot = slot or '0:'
  local digits = string.match(slot, '^%d+')
  local stands = tonumber(digits)
  local is_lost = not now and seen == '' and stands < floor
  if now == seen or is_lost then
    local dropped = string.sub(slot, #digits + 1)
    if dropped ~= '*' then
      dropped = #dropped - 1 < 2 * most and dropped .. string.sub(handle, 7) or '*'
    end
    redis.call('HDEL', KEYS[i], handle)
    redis.call('HSET', KEYS[i], '', string.format('%.0f', math.max(floor, stands)) .. dropped)
  end
  gone[i] = (now == seen or is_lost or (not now and stands >= floor)) and 1 or 0
end
return gone
