-- Writes ranks into page records.
-- KEYS[i] is the hash of write i; ARGV[1] the handles, 8 bytes each; ARGV[i + 1] the header that the record is
-- to have if its version byte, the header's last, is the same.
-- Returns 1 where the record has that header now, else 0.
local written = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local header, now = ARGV[i + 1], redis.call('HGET', KEYS[i], handle)
  local is_meant = now and string.byte(now, 7) == string.byte(header, 7)
  if is_meant then
    redis.call('HSET', KEYS[i], handle, header .. string.sub(now, 8))
  end
  written[i] = is_meant and 1 or 0
end
return written
