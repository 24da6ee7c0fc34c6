-- Removes members from their buckets; what is not there is passed over.
-- KEYS[i] is the bucket of member i; ARGV[1] the members, 18 bytes each: suffix_bytes (1) | suffix (8, big-endian) |
-- handle (8) | version byte (1). What a bucket is, `probe_insert` says.
local call, sub = redis.call, string.sub

-- Takes the member of 9 bytes out of those with its word.
local function remove_from_word(key, word, tail)
  local stored = call('HGET', key, word) or ''
  for from = 1, #stored, 9 do
    if sub(stored, from, from + 8) == tail then
      local left = sub(stored, 1, from - 1) .. sub(stored, from + 9)
      if left == '' then
        call('HDEL', key, word)
      else
        call('HSET', key, word, left)
      end
      return
    end
  end
end

for i = 1, #KEYS do
  local at = (i - 1) * 18
  local suffix_bytes, last = string.byte(ARGV[1], at + 1), at + 18
  if suffix_bytes == 0 then
    remove_from_word(KEYS[i], sub(ARGV[1], last - 10, last - 9), sub(ARGV[1], last - 8, last))
  else
    call('ZREM', KEYS[i], sub(ARGV[1], last - 8 - suffix_bytes, last))
  end
end
