-- One account's record, decided where it is kept. KEYS: the record. ARGV: what to do ('charge', 'refund', 'peek'), cost,
-- units a minute, units a day, moment and day of the charge that is given back, the time (empty: this server's own clock).
-- Answers with integers: 1 where it was charged, deficit, last_us, day, spent, the clock's reading.
--
-- Numbers here are doubles, exact up to 2^53. A ceiling of 150,000,000 makes a bucket of 9.0e15 sub-units, just below it,
-- so two buckets are never added: a cost is compared with what is left of one.
local UNIT, MINUTE, DAY = 60000000, 60000000, 86400000000

local given = tonumber(ARGV[7])
local now = given
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local deficit, last, day, spent, ceiling = 0, 0, 0, 0, 0
local packed = redis.call('GET', KEYS[1])
if packed then
    deficit, last, day, spent, ceiling = struct.unpack('>ddddd', packed)
end
local at = math.max(now, last)
local today = math.floor(at / DAY)

local function keep()
    -- An absent record means nothing used, so it may go once nothing is spent today and even a bucket of one unit a minute
    -- has paid the deficit back. A minute more, for a clock that is set back a little.
    local ends_ms = math.ceil((math.max((day + 1) * DAY, last + deficit, at) + MINUTE) / 1000)
    if given then
        ends_ms = ends_ms - math.floor(given / 1000)
    end
    redis.call('SET', KEYS[1], struct.pack('>ddddd', deficit, last, day, spent, ceiling),
        given and 'PX' or 'PXAT', string.format('%.0f', ends_ms))
end

local function answer(charged)
    return {charged, deficit, last, day, spent, now}
end

local op, cost, per_minute = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if op == 'charge' then
    local per_day = tonumber(ARGV[4])
    -- No more time than pays the whole deficit, so that the product stays exact.
    local paid = math.min(at - last, math.floor(deficit / per_minute) + 1) * per_minute
    local owed = math.max(deficit - paid, 0)
    local used = today > day and 0 or spent
    if owed > (per_minute - cost) * UNIT or used + cost > per_day then
        return answer(0)
    end
    ceiling = at - last < MINUTE and math.max(ceiling, per_minute) or per_minute
    deficit, last, day, spent = owed + cost * UNIT, at, math.max(day, today), used + cost
    keep()
    return answer(1)
elseif op == 'refund' and packed then
    local charged_at, charged_day = tonumber(ARGV[5]), tonumber(ARGV[6])
    -- To the minute what has not refilled since the charge, to the day all of it while it is the same one.
    local rate = math.max(ceiling, per_minute)
    local whole = cost * UNIT
    local refilled = math.min(math.max(at - charged_at, 0), math.floor(whole / rate) + 1) * rate
    local owed = math.max(deficit - math.max(whole - refilled, 0), 0)
    local used = spent
    if day == charged_day and today <= charged_day then
        used = math.max(spent - cost, 0)
    end
    if owed ~= deficit or used ~= spent then
        deficit, spent = owed, used
        keep()
    end
end
return answer(0)
