-- Writes each frame table if the stored one still has the stamp that its writer saw.
-- KEYS[i] is the table of change i; ARGV[1] how many seconds a table is kept after its last write; then two for
-- each change: the stamp, empty for no table; the new table. A stamp is the first 8 bytes.
-- Returns false where the new table is stored, else what is, empty for nothing.
local answers = {}
for i = 1, #KEYS do
  local expected, new = ARGV[2 * i], ARGV[2 * i + 1]
  local stored = redis.call('GET', KEYS[i]) or ''
  local stamp = string.sub(stored, 1, 8)
  answers[i] = stored
  if stamp == expected then
    redis.call('SET', KEYS[i], new, 'EX', ARGV[1])
    answers[i] = false
  elseif stamp == string.sub(new, 1, 8) then
    answers[i] = false
  end
end
return answers
