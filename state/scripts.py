"""The three scripts that touch a partition's keys: take it, read under the fence, move it forward.

Each checks the fence before it does anything, so a worker that has lost its partition, or whose Redis has lost data,
is refused instead of folding onto what is not there (docs/architecture.md). Keys of one partition share a hash tag, so
the scripts also run on a Redis Cluster. A changelog position travels as text and is compared for equality only: the
offset in decimal, and where several calls write rows at one offset, `+` and the number of the call.
"""

from __future__ import annotations

ACQUIRE = """
-- KEYS: meta.  ARGV: token, fence (changelog offset of the claim), incarnation of the changelog, worker
local m = redis.call('HMGET', KEYS[1], 'fence', 'incarnation', 'changelog', 'state')
if m[2] == ARGV[3] then
  if m[1] and tonumber(m[1]) > tonumber(ARGV[2]) then
    return redis.error_reply('FENCED claim ' .. ARGV[2] .. ' is older than ' .. m[1])
  end
  -- Each claim makes the log longer, so this is remembered.
  local at = tonumber(string.match(m[3] or '', '^%d+') or 0)
  if m[4] == 'ahead' or at > tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[1], 'state', 'ahead')
    return redis.error_reply('DIVERGED changelog ' .. at .. ' lies behind the end of a log that was cut')
  end
end
local before = redis.call('HGETALL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'fence', ARGV[2], 'worker', ARGV[4])
if not (m[3] and m[3] == ARGV[2] and m[2] == ARGV[3]) then
  redis.call('HSET', KEYS[1], 'state', 'restoring')
end
return before
"""

LOAD = """
-- KEYS: meta, hashes.  ARGV: token, changelog position last confirmed, then per hash: n, n fields
local m = redis.call('HMGET', KEYS[1], 'epoch', 'changelog')
if m[1] ~= ARGV[1] then return redis.error_reply('FENCED epoch ' .. tostring(m[1])) end
if (m[2] or '') ~= ARGV[2] then return redis.error_reply('DIVERGED changelog ' .. tostring(m[2])) end
local out, i = {}, 3
for k = 2, #KEYS do
  local n = tonumber(ARGV[i])
  for j = i + 1, i + n, 4000 do
    local rows = redis.call('HMGET', KEYS[k], unpack(ARGV, j, math.min(j + 3999, i + n)))
    for r = 1, #rows do out[#out + 1] = rows[r] end
  end
  i = i + n + 1
end
return out
"""

APPLY = """
-- KEYS: meta, then one key per operation.
-- ARGV: token, changelog position before, after, n, n alternating fields and values of meta,
--   then per key: op, n, n arguments
--   op s: HSET field value ..., d: HDEL field ..., z: ZADD (score 0) member ...
local m = redis.call('HMGET', KEYS[1], 'epoch', 'changelog')
if m[1] ~= ARGV[1] then return redis.error_reply('FENCED epoch ' .. tostring(m[1])) end
local at = m[2] or ''
if at ~= ARGV[2] then
  if at == ARGV[3] then return 0 end  -- this very call has been applied before its answer was lost
  return redis.error_reply('DIVERGED changelog ' .. at .. ' expected ' .. ARGV[2])
end
local n = tonumber(ARGV[4])
local i = 5 + n
for k = 2, #KEYS do
  local op, count = ARGV[i], tonumber(ARGV[i + 1])
  for j = i + 2, i + 1 + count, 4000 do
    local last = math.min(j + 3999, i + 1 + count)
    if op == 's' then redis.call('HSET', KEYS[k], unpack(ARGV, j, last))
    elseif op == 'd' then redis.call('HDEL', KEYS[k], unpack(ARGV, j, last))
    else for z = j, last do redis.call('ZADD', KEYS[k], 0, ARGV[z]) end end
  end
  i = i + 2 + count
end
redis.call('HSET', KEYS[1], 'changelog', ARGV[3], unpack(ARGV, 5, 4 + n))
return 1
"""
