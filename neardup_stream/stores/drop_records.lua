-- Removes each page record that is still what its writer saw, and raises its slot's version floor.
-- KEYS[i] is the hash of drop i; ARGV[1] the handles, 8 bytes each; then two for each drop: what the writer
-- saw; the floor that it asks for, kept under the empty field.
-- Returns 1 where the record is gone, now or since an earlier run of this call, else 0.
local gone = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, floor = ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  local now = redis.call('HGET', KEYS[i], handle)
  local stands = tonumber(redis.call('HGET', KEYS[i], '') or 0)
  if now == seen then
    redis.call('HDEL', KEYS[i], handle)
    if floor > stands then
      redis.call('HSET', KEYS[i], '', floor)
    end
  end
  gone[i] = (now == seen or (not now and stands >= floor)) and 1 or 0
end
return gone
