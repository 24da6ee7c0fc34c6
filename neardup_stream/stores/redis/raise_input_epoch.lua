-- Raises the stored epoch of a topic, never lowers it.
-- KEYS[1] hash: topic → epoch; ARGV[1] topic, ARGV[2] epoch
-- Returns the highest epoch that any daemon ever brought.
local held = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or -1)
local brought = tonumber(ARGV[2])
if brought > held then
  redis.call('HSET', KEYS[1], ARGV[1], brought)
  return brought
end
return held
