import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { EventType } from "../../src/domain/event.ts";
import type { LoggedAttempt } from "../../src/tables/delivery-attempts.ts";
import { NOT_WORTH_RETRYING } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, runService, type Service } from "./running-service.ts";
import { type AnswerWebhook, answerInOrder } from "./webhook-endpoint.ts";

// "Delivery rules" in real time and, beside them, both retry schedules to their ends on a fast clock.
let service: Service;
const LIMIT_MS = 30_000;
const log = async (shop: Shop) => {
  const [event] = await shop.deliveries("pause_collection");
  return event ? shop.attempts(event.eventId) : [];
};
const attempted = (shop: Shop, times: number, limitMs?: number) =>
  eventually(
    async () => {
      const attempts = await log(shop);
      return attempts.length >= times ? attempts : null;
    },
    `attempt ${times}`,
    limitMs,
  );
const unpaid = async (answer: AnswerWebhook) => {
  const shop = await service.shop({ answer });
  await shop.push("invoices", shop.invoice());
  return shop;
};
/** Answers the first request of each event with `answer`, later ones with 200. */
const first =
  (answer: AnswerWebhook): AnswerWebhook =>
  (request, response, earlier) =>
    (earlier === 0 ? answer : answerInOrder(200))(request, response, earlier);

/** Time allowed for a busy machine before and after an attempt, where it is not under test. */
const SLOW_MS = 20_000;
/** A quarter of an hour is two seconds. */
const RATE = 450;
/** Real time that the machine may add to a delay. */
const LATE_MAX_MS = 1_900;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];

suite("delivery", { concurrency: 2 }, () => {
  suite("delivery rules", { concurrency: 25 }, () => {
    before(async () => {
      service = await runService();
    });
    after(() => service?.stop());

    for (const status of [200, 201, 202, 204, 299])
      test(`1. a delivery succeeds when the endpoint returns any 2xx status: ${status}`, async () => {
        const [attempt] = await attempted(await unpaid(answerInOrder(status)), 1);
        assert.equal(attempt!.status, status);
        assert.equal(attempt!.ends, "delivered");
      });

    for (const status of [301, 307, 400, 404, 410, 429, 500, 503])
      test(`1. any other status is a failure and triggers retries: ${status}`, async () => {
        const answer: AnswerWebhook = (request, response) =>
          response.writeHead(status, { location: `https://127.0.0.1${request.path}/elsewhere` }).end();
        const shop = await unpaid(first(answer));
        const [failed, delivered] = await attempted(shop, 2);
        assert.equal(failed!.success, false);
        assert.equal(failed!.status, status);
        assert.equal(delivered!.ends, "delivered");
        assert.ok(
          shop.received.every(({ path }) => !path.includes("elsewhere")),
          "a redirect is not followed",
        );
      });

    test("1. a connection error is a failure and triggers retries", async () => {
      const shop = await unpaid(first((_request, response) => response.socket!.destroy()));
      const [failed, delivered] = await attempted(shop, 2);
      assert.equal(failed!.success, false);
      assert.equal(failed!.status, null);
      assert.ok(failed!.error);
      assert.equal(delivered!.ends, "delivered");
    });

    test("1. a reply within 30 seconds is in time: after 28 it is still a success", async () => {
      const shop = await unpaid((_request, response) => setTimeout(() => response.writeHead(200).end(), 28_000));
      const [attempt] = await attempted(shop, 1, LIMIT_MS + SLOW_MS);
      assert.equal(attempt!.ends, "delivered");
      assert.ok(attempt!.durationMs >= 27_900, `${attempt!.durationMs} ms`);
    });

    test("1. and 2. a timeout is a failure: the event whose success reply comes after 30 seconds arrives again, with the same id and bytes", async () => {
      const late: AnswerWebhook = (_request, response) =>
        setTimeout(() => response.writeHead(200).end(), LIMIT_MS + 1_000);
      const shop = await unpaid(first(late));
      const [failed, delivered] = await attempted(shop, 2, LIMIT_MS + SLOW_MS);
      assert.equal(failed!.success, false);
      assert.equal(failed!.status, null);
      assert.ok(failed!.durationMs >= LIMIT_MS && failed!.durationMs < LIMIT_MS + 1_000, `${failed!.durationMs} ms`);
      assert.equal(delivered!.ends, "delivered");
      const waitedMs = delivered!.startedAt.getTime() - failed!.endedAt.getTime();
      assert.ok(waitedMs >= 100, `the delay runs from the end of the attempt: ${waitedMs} ms`);
      const [one, two] = shop.events("pause_collection");
      assert.deepEqual(two!.bytes, one!.bytes);
    });

    test("2. a receiver that stores the id, and skips an event it has already handled, handles each event once", async () => {
      const stored = new Set<unknown>();
      const handled: unknown[] = [];
      const shop = await unpaid(({ json }, response, earlier) => {
        if (!stored.has(json.id)) handled.push(json.type);
        stored.add(json.id);
        // The first success reply of each event is lost in transit.
        if (earlier === 0) response.socket!.destroy();
        else response.writeHead(200).end();
      });
      await eventually(() => shop.received.length === 4, "both events twice");
      assert.deepEqual(handled.sort(), ["pause_collection", "recovery_action"]);
    });

    test("3. a quick acknowledgement is enough: the service does not wait for the body", async () => {
      const shop = await unpaid((_request, response) => {
        response.writeHead(200);
        response.write("{");
      });
      const [attempt] = await attempted(shop, 1);
      assert.equal(attempt!.ends, "delivered");
    });

    test("attempts 1 to 4: after about 100 ms, 5 s and 15 s from the end of the failed one, never early; then asynchronously", async () => {
      const shop = await unpaid((_request, response) => setTimeout(() => response.writeHead(500).end(), 300));
      const attempts = await attempted(shop, 4, 30_000);
      for (const [index, delayMs] of [100, 5_000, 15_000].entries()) {
        const gapMs = attempts[index + 1]!.startedAt.getTime() - attempts[index]!.endedAt.getTime();
        assert.ok(gapMs >= delayMs && gapMs < delayMs + 1_000, `${gapMs} ms in place of ${delayMs}`);
      }
      const [event] = await shop.deliveries("pause_collection");
      assert.equal(event!.state, "waiting");
      assert.equal(event!.dueAt!.getTime() - attempts[3]!.endedAt.getTime(), 15 * 60_000);
      await sleep(500);
      assert.equal(shop.events("pause_collection").length, 4);
    });

    test("a 429 with Retry-After pushes the next attempt later, never earlier", async () => {
      const busy: AnswerWebhook = (_request, response) => response.writeHead(429, { "retry-after": "2" }).end();
      const [failed, delivered] = await attempted(await unpaid(first(busy)), 2);
      const gapMs = delivered!.startedAt.getTime() - failed!.endedAt.getTime();
      assert.ok(gapMs >= 2_000 && gapMs < 3_500, `${gapMs} ms`);
    });

    test("rate limit applying to deliveries: not shown; at most 5 requests are in flight at once", async () => {
      let inFlight = 0;
      let most = 0;
      const shop = await service.shop({
        answer: (_request, response) => {
          most = Math.max(most, ++inFlight);
          setTimeout(() => {
            inFlight--;
            response.writeHead(200).end();
          }, 50);
        },
      });
      await shop.push("invoices", ...Array.from({ length: 20 }, () => shop.invoice()));
      await eventually(() => shop.received.length === 40 && inFlight === 0, "all events");
      assert.equal(most, 5);
    });
  });

  suite("retry schedules", { concurrency: 30 }, () => {
    let fast: Service;
    /** An endpoint that always fails, and the delivery log of one event of each type when it is exhausted. */
    let shop: Shop;
    const logs = new Map<EventType, { eventId: string; attempts: LoggedAttempt[] }>();
    before(async () => {
      fast = await runService({ clockRate: RATE });
      shop = await fast.shop({ answer: answerInOrder(503) });
      const [retried, hopeless] = [shop.invoice(), shop.invoice()];
      await shop.push("transactions", shop.transaction(hopeless, NOT_WORTH_RETRYING));
      await shop.push("invoices", retried, hopeless);
      const subjects = { recovery_action: retried, pause_collection: retried, complete_dunning: hopeless };
      for (const [type, { id }] of Object.entries(subjects) as [EventType, typeof retried][]) {
        const exhausted = async () => (await shop.deliveries(type, id)).find(({ state }) => state === "exhausted");
        const { eventId } = await eventually(exhausted, `exhaustion of ${type}`, 25_000);
        logs.set(type, { eventId, attempts: await shop.attempts(eventId) });
      }
    });
    after(() => fast?.stop());

    const requests = (type: EventType) => shop.received.filter(({ json }) => json.id === logs.get(type)!.eventId);

    const kinds: [EventType, number][] = [
      ["recovery_action", 6],
      ["pause_collection", 7],
      ["complete_dunning", 7],
    ];
    for (const [type, count] of kinds) {
      test(`\`${type}\`: ${count} attempts in total, and no more`, async () => {
        assert.deepEqual(
          logs.get(type)!.attempts.map(({ number }) => number),
          Array.from({ length: count }, (_, index) => index + 1),
        );
        // Longer than the longest delay.
        await sleep((60 * MINUTE) / RATE + 500);
        assert.equal(requests(type).length, count);
      });

      for (let number = 2; number <= count; number++) {
        const delayMs = DELAYS_MS[number - 2]!;
        test(`\`${type}\`, attempt ${number}: ${delayMs} ms after the end of the previous attempt, never early`, () => {
          const { attempts } = logs.get(type)!;
          const gapMs = attempts[number - 1]!.startedAt.getTime() - attempts[number - 2]!.endedAt.getTime();
          assert.ok(gapMs >= delayMs, `${gapMs} ms`);
          assert.ok((gapMs - delayMs) / RATE < LATE_MAX_MS, `late by ${(gapMs - delayMs) / RATE} ms of real time`);
        });
      }

      test(`\`${type}\`: after the last attempt fails, the webhook is exhausted`, async () => {
        const { eventId, attempts } = logs.get(type)!;
        assert.deepEqual(
          attempts.map(({ ends }) => ends).filter((ends) => ends !== null),
          ["exhausted"],
        );
        assert.equal(attempts.at(-1)!.ends, "exhausted");
        const found = (await shop.deliveries(type)).find((event) => event.eventId === eventId)!;
        assert.equal(found.dueAt, null);
      });

      test(`\`${type}\`: every attempt has the same id and the same bytes`, () => {
        const [first, ...others] = requests(type);
        for (const { bytes, path } of others) {
          assert.deepEqual(bytes, first!.bytes);
          assert.equal(path, first!.path);
        }
      });
    }
  });
});
