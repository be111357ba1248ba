"""The scripts: take a partition, read it under the fence, move it forward; and declare a fold.

Each of the first three checks the fence before it does anything, so a worker that has lost its partition, or whose
Redis has lost data, is refused instead of folding onto what is not there (docs/durability.md). Keys of one partition
share a hash tag, so the scripts also run on a Redis Cluster. A changelog position travels as text and is compared for
equality only: the offset in decimal, and where several calls write rows at one offset, `+` and the number of the call.
Fields and rows travel as one argument in MessagePack: thousands of arguments would cost the client more than the rows.
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
-- KEYS: meta, hashes.  ARGV: token, changelog position last confirmed, MessagePack: per hash its fields
local m = redis.call('HMGET', KEYS[1], 'epoch', 'changelog')
if m[1] ~= ARGV[1] then return redis.error_reply('FENCED epoch ' .. tostring(m[1])) end
if (m[2] or '') ~= ARGV[2] then return redis.error_reply('DIVERGED changelog ' .. tostring(m[2])) end
local out = {}
for k, fields in ipairs(cmsgpack.unpack(ARGV[3])) do
  for j = 1, #fields, 4000 do
    local rows = redis.call('HMGET', KEYS[k + 1], unpack(fields, j, math.min(j + 3999, #fields)))
    for r = 1, #rows do out[#out + 1] = rows[r] end
  end
end
return out
"""

DECLARE_FOLD = """
-- KEYS: hash of the deployment.  ARGV: fold version, revision, stamp (hex), canonical JSON of the default profile.
-- Answers the newest fold, which is the declared one unless a newer one, or another of the same revision, is there.
local mine = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
local newest = redis.call('HGET', KEYS[1], 'fold')
if newest and newest ~= mine then
  local version, revision = string.match(newest, '^(%d+) (%d+) ')
  version, revision = tonumber(version), tonumber(revision)
  if version > tonumber(ARGV[1]) or (version == tonumber(ARGV[1]) and revision >= tonumber(ARGV[2])) then
    if version > tonumber(ARGV[1]) or revision > tonumber(ARGV[2]) then
      redis.call('HSET', KEYS[1], 'profile:' .. ARGV[3], ARGV[4])  -- its rows may still be read
    end
    return newest
  end
end
redis.call('HSET', KEYS[1], 'fold', mine, 'profile:' .. ARGV[3], ARGV[4])
return mine
"""

PAGE = """
-- KEYS: meta, hash.  ARGV: token, changelog position last confirmed, cursor, fields a page
-- Answers the next cursor, fields and values, and how many fields there are in all.
local m = redis.call('HMGET', KEYS[1], 'epoch', 'changelog')
if m[1] ~= ARGV[1] then return redis.error_reply('FENCED epoch ' .. tostring(m[1])) end
if (m[2] or '') ~= ARGV[2] then return redis.error_reply('DIVERGED changelog ' .. tostring(m[2])) end
local page = redis.call('HSCAN', KEYS[2], ARGV[3], 'COUNT', ARGV[4])
return {page[1], page[2], redis.call('HLEN', KEYS[2])}
"""

APPLY = """
-- KEYS: meta, then one key per operation.
-- ARGV: token, changelog position before, after, MessagePack: alternating fields and values of meta,
--   MessagePack: per key [op, arguments]
--   op s: HSET field value ..., d: HDEL field ..., z: ZADD (score 0) member ..., r: ZREM member ..., u: UNLINK,
--   t: look whether the key exists, c: HDEL field ... if the key of the operation before does not
local m = redis.call('HMGET', KEYS[1], 'epoch', 'changelog')
if m[1] ~= ARGV[1] then return redis.error_reply('FENCED epoch ' .. tostring(m[1])) end
local at = m[2] or ''
if at ~= ARGV[2] then
  if at == ARGV[3] then return 0 end  -- this very call has been applied before its answer was lost
  return redis.error_reply('DIVERGED changelog ' .. at .. ' expected ' .. ARGV[2])
end
local gone = false
for k, operation in ipairs(cmsgpack.unpack(ARGV[5])) do
  local key, op, arguments = KEYS[k + 1], operation[1], operation[2]
  if op == 'u' then redis.call('UNLINK', key) end
  if op == 't' then gone = redis.call('EXISTS', key) == 0 end
  for j = 1, #arguments, 4000 do
    local last = math.min(j + 3999, #arguments)
    if op == 's' then redis.call('HSET', key, unpack(arguments, j, last))
    elseif op == 'd' then redis.call('HDEL', key, unpack(arguments, j, last))
    elseif op == 'r' then redis.call('ZREM', key, unpack(arguments, j, last))
    elseif op == 'c' then if gone then redis.call('HDEL', key, unpack(arguments, j, last)) end
    else for z = j, last do redis.call('ZADD', key, 0, arguments[z]) end end
  end
end
redis.call('HSET', KEYS[1], 'changelog', ARGV[3], unpack(cmsgpack.unpack(ARGV[4])))
return 1
"""
