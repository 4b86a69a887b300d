import type { ClaimedEvent, EventStore } from "../src/index.ts";

export interface RedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** Far longer than Dunlin sends an event, including replays. */
const RETENTION_S = 90 * 86_400;
const EVENT_KEY_PREFIX = "dunlin:event:";
const DUE_KEY = "dunlin:due";

const STORE_SCRIPT = `if redis.call("exists", KEYS[1]) == 1 then return 0 end
  redis.call("hset", KEYS[1], "event", ARGV[2], "tries", 0)
  redis.call("zadd", KEYS[2], ARGV[3], ARGV[1])
  return 1`;
const CLAIM_SCRIPT = `local claimed = {}
  for _, id in ipairs(redis.call("zrangebyscore", KEYS[1], "-inf", ARGV[2], "limit", 0, ARGV[1])) do
    local key = ARGV[4] .. id
    redis.call("zadd", KEYS[1], ARGV[3], id)
    local tries = redis.call("hincrby", key, "tries", 1)
    table.insert(claimed, redis.call("hget", key, "event"))
    table.insert(claimed, tostring(tries))
  end
  return claimed`;
/** An empty due time ends the event. */
const SET_DUE_SCRIPT = `if redis.call("hget", KEYS[1], "tries") ~= ARGV[2] or not redis.call("zscore", KEYS[2], ARGV[1]) then return 0 end
  if ARGV[3] == "" then
    redis.call("zrem", KEYS[2], ARGV[1])
    redis.call("expire", KEYS[1], ARGV[4])
  else
    redis.call("zadd", KEYS[2], ARGV[3], ARGV[1])
  end
  return 1`;

/**
 * Stores events in Redis, which must be durable: `appendonly yes`, `appendfsync always`.
 *
 * The work and the event's end are not atomic: after a crash in between, the event is handled again. So the handler must be
 * idempotent, for example by using the event's id as the charge's idempotency key.
 */
export function redisEventStore(redis: RedisClient): EventStore {
  const setDue = ({ event, tries }: ClaimedEvent, due: string) =>
    redis.eval(SET_DUE_SCRIPT, {
      keys: [EVENT_KEY_PREFIX + event.id, DUE_KEY],
      arguments: [event.id, String(tries), due, String(RETENTION_S)],
    });
  return {
    async keep(event, now) {
      const values = [event.id, JSON.stringify(event), String(now.getTime())];
      return (
        (await redis.eval(STORE_SCRIPT, { keys: [EVENT_KEY_PREFIX + event.id, DUE_KEY], arguments: values })) === 1
      );
    },
    async claim(limit, now, until) {
      const values = [String(limit), String(now.getTime()), String(until.getTime()), EVENT_KEY_PREFIX];
      const flat = (await redis.eval(CLAIM_SCRIPT, { keys: [DUE_KEY], arguments: values })) as string[];
      return Array.from({ length: flat.length / 2 }, (_, n) => ({
        event: JSON.parse(flat[n * 2]!),
        tries: Number(flat[n * 2 + 1]),
      }));
    },
    async finish(claimed, work) {
      await work(undefined);
      await setDue(claimed, "");
    },
    async postpone(claimed, dueAt) {
      await setDue(claimed, dueAt ? String(dueAt.getTime()) : "");
    },
  };
}
