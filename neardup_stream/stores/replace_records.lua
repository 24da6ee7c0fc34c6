-- Writes each page record if what is stored is still what its writer saw.
-- KEYS[i] is the hash of change i; ARGV[1] the handles, 8 bytes each; then three for each change: what the
-- writer saw, empty for nothing; the new record; the version floor it knows, kept under the empty field.
-- Returns false where the new record is stored; what is stored instead; the floor where nothing is.
local answers = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, new, floor = ARGV[3 * i - 1], ARGV[3 * i], tonumber(ARGV[3 * i + 1])
  local now, stands = unpack(redis.call('HMGET', KEYS[i], handle, ''))
  if now == new then
    answers[i] = false
  elseif now then
    answers[i] = now ~= seen and now
  else
    stands = tonumber(stands or 0)
    answers[i] = (seen ~= '' or stands ~= floor) and stands
  end
  if answers[i] == false and now ~= new then
    redis.call('HSET', KEYS[i], handle, new)
  end
end
return answers
