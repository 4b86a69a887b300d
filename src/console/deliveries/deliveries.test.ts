import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeDeliverer, makeEvents, makeMerchant } from "../../delivery/deliverer.fixture.ts";
import type { Send } from "../../delivery/https/send.ts";
import type { EventType } from "../../domain/event.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { listAudited } from "../../store/audit-log.ts";
import { attemptsOf } from "../../store/delivery-attempts.ts";
import { type TestConsole, testConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await testConsole();
});
after(() => at.close());

const refusing: Send = async () => ({ outcome: "response", status: 500, retryAfter: null, text: "<b>not today</b>" });
const taking: Send = async () => ({ outcome: "response", status: 200, retryAfter: null, text: "" });

/** Attempts that are due now, until `hours` have passed. */
async function deliver(send: Send, hours: number) {
  const deliverer = makeDeliverer({ db: at.db, ports: at.ports, send });
  const end = at.clock.serviceMs + hours * 3_600_000;
  for (;;) {
    await deliverer.deliverDue();
    if (at.clock.serviceMs >= end) break;
    const { rows } = await at.db.run<{ due: Date | null }>(
      { name: "test_next", text: "select min(due_at) as due from deliveries where due_at > $1" },
      [at.ports.now()],
    );
    const due = Math.min(end, rows[0]?.due?.getTime() ?? end);
    at.clock.monotonicMs += due - at.clock.serviceMs;
    at.clock.realMs += due - at.clock.serviceMs;
    at.clock.serviceMs = due;
  }
  await deliverer.stop();
}

async function shop() {
  const merchant = await makeMerchant(at.db);
  const events = (count: number, type?: EventType) => makeEvents(at.db, merchant, count, at.ports.now(), type);
  const browser = async (role: "developer" | "viewer") => at.browser(await at.person(role, merchant));
  return { merchant, events, browser };
}

test("the list says how many events need a hand, and shows how each stands", async () => {
  const { events, browser } = await shop();
  const developer = await browser("developer");
  assert.match((await developer.get("/deliveries")).body, /No event yet/);
  assert.match(
    (await developer.get("/deliveries/replay")).body,
    /there is nothing to send again[^<]*<\/p><\/div>\s*<\/main>/,
  );
  const [lost] = await events(1);
  await deliver(refusing, 2);
  const [taken] = await events(1);
  await deliver(taking, 0);
  const page = (await developer.get("/deliveries")).body;
  assert.match(page, />1 exhausted<\/a>: every attempt failed/);
  assert.match(page, /50\.0% of 2 events were taken at the first attempt/);
  const first = /<tr><td[^>]*><a href="\/deliveries\/([^"]+)"/.exec(page)![1];
  assert.equal(first, taken!.id);
  const only = (await developer.get("/deliveries?state=exhausted&type=recovery_action&code=500")).body;
  assert.ok(only.includes(lost!.id) && !only.includes(taken!.id));
  assert.match((await developer.get("/deliveries?invoiceId=nobody")).body, /No event fits/);
});

test("events stand in the order in which their plans were made, beside the moments at which they were created", async () => {
  const { events, browser } = await shop();
  const [planned] = await events(1);
  const plannedAt = at.ports.now();
  at.clock.serviceMs += 3_600_000;
  await events(1, "pause_collection");
  const pausedAt = at.ports.now();
  at.clock.serviceMs += 3_600_000;
  const LATER = "update events set created_at = $1 where id = $2";
  await at.db.run({ name: "test_later", text: LATER }, [at.ports.now(), planned!.id]);
  const viewer = await browser("viewer");
  const page = (await viewer.get("/deliveries")).body;
  const rows = [...page.matchAll(/<tr>[^\n]*?<time datetime="([^"]+)"[^\n]*?<time datetime="([^"]+)"/g)];
  assert.deepEqual(
    rows.slice(-2).map(([, made, created]) => [made, created]),
    [
      [pausedAt, pausedAt],
      [plannedAt, at.ports.now()],
    ].map((row) => row.map((moment) => moment!.toISOString())),
  );
  const lines = (await viewer.get("/deliveries.csv")).body.trim().split("\r\n");
  assert.deepEqual(
    lines.map((line) => line.split(",").at(-1)),
    ["plan_made_at_utc", pausedAt.toISOString(), plannedAt.toISOString()],
  );
});

test("attempts stand by the hour on the viewer's clocks, also where these differ by half an hour", async () => {
  const { events, browser } = await shop();
  const developer = await browser("developer");
  assert.doesNotMatch((await developer.get("/deliveries")).body, /Attempts of the last 24 hours/);
  await events(3);
  await deliver(taking, 0);
  await events(1);
  await deliver(refusing, 0.001);
  await developer.post("/account", { zone: "Asia/Kolkata", theme: "system" });
  const page = (await developer.get("/deliveries")).body;
  const hours = [
    ...page.matchAll(
      /<tr><td[^>]*>(\d\d:\d\d)[^\n]*?<td class="number"[^>]*>(\d+)<\/td><td class="number"[^>]*>(\d+)</g,
    ),
  ];
  assert.equal(hours.length, 24);
  const [, label, delivered, failed] = hours.at(-1)!;
  const inKolkata = new Date(at.clock.serviceMs + 5.5 * 3_600_000);
  assert.equal(label, `${inKolkata.toISOString().slice(11, 13)}:00`);
  assert.deepEqual([delivered, failed], ["3", "2"], "the second attempt follows after 100 ms");
  assert.ok(hours.slice(0, -1).every(([, , taken, lost]) => taken === "0" && lost === "0"));
});

test("an attempt counts in the day in which it was made, however long before its event was planned", async () => {
  const { events, browser } = await shop();
  const viewer = await browser("viewer");
  await events(2);
  at.clock.serviceMs += 20 * 86_400_000;
  await deliver(taking, 0);
  const page = (await viewer.get("/deliveries")).body;
  assert.match(page, /100\.0% of 2 events were taken at the first attempt/);
  assert.match(page, /Attempts of the last 24 hours: 2 delivered, 0 failed/);
  at.clock.serviceMs += 25 * 3_600_000;
  await events(1);
  const dayLater = (await viewer.get("/deliveries")).body;
  assert.doesNotMatch(dayLater, /were taken at the first attempt|Attempts of the last 24 hours/);
});

test("an unknown filter or value is a message, not an empty page", async () => {
  const viewer = await (await shop()).browser("viewer");
  for (const [query, says] of [
    ["state=lost", /must be one of waiting, delivered/],
    ["colour=red", /&quot;colour&quot; in it, which this page does not know/],
    ["code=9", /must be a status/],
    ["state=waiting&state=delivered", /more than once/],
    ["createdFrom=yesterday", /must be a moment/],
  ] as const) {
    const reply = await viewer.get(`/deliveries?${query}`);
    assert.equal(reply.statusCode, 400, query);
    assert.match(reply.body, says);
  }
});

test("a time on the viewer's clocks becomes one in UTC in the address, which shows the same rows to everybody", async () => {
  const viewer = await (await shop()).browser("viewer");
  await viewer.post("/account", { zone: "Europe/Berlin", theme: "system" });
  const moved = await viewer.get("/deliveries?state=&createdFrom=2026-07-01T12:00&createdTo=");
  assert.equal(moved.headers.location, "/deliveries?createdFrom=2026-07-01T10%3A00%3A00Z");
  const page = (await viewer.get(String(moved.headers.location))).body;
  assert.match(page, /name="createdFrom" type="datetime-local" value="2026-07-01T12:00"/);
});

test("what is still to come is there with its plan, and how long it takes until the next one, to be counted down", async () => {
  const { events, browser } = await shop();
  const [event] = await events(1);
  await deliver(refusing, 0.01);
  const viewer = await browser("viewer");
  const page = (await viewer.get(`/deliveries/${event!.id}`)).body;
  const toCome = /<tr><td[^>]*>(\d) of 6<\/td><td[^>]*><time datetime="([^"]+)"[^\n]* data-head="Took"><\/td>/g;
  const rows = [...page.matchAll(toCome)].map(([, n, at]) => [n, at!]);
  const [next, last] = rows.map(([, planned]) => new Date(planned!).getTime());
  assert.deepEqual(
    rows.map(([number]) => number),
    ["5", "6"],
  );
  assert.equal(last! - next!, 30 * 60_000);
  const left = next! - at.clock.serviceMs;
  assert.match(page, new RegExp(`data-countdown="${left}" data-rate="1">in 14 minutes</span>`));
  assert.match(page, /if the one before fails at once/);
  assert.match((await viewer.get("/deliveries?state=waiting")).body, new RegExp(`data-countdown="${left}"`));
});

test("attempts stand beside the plan: 0, 100 ms, 5 s, 15 s, 15 min, 30 min after the one before", async () => {
  const { events, browser, merchant } = await shop();
  const [event] = await events(1);
  await deliver(refusing, 1);
  const attempts = await attemptsOf(at.db, merchant.id, event!.id);
  assert.equal(attempts.length, 6);
  const page = (await (await browser("viewer")).get(`/deliveries/${event!.id}`)).body;
  const times = [
    ...page.matchAll(
      /<tr><td[^>]*>(\d) of 6<\/td><td[^>]*><time datetime="([^"]+)"[\s\S]*?<td[^>]*><time datetime="([^"]+)"/g,
    ),
  ];
  const began = attempts.map(({ startedAt }) => startedAt.toISOString());
  assert.deepEqual(
    times.map(([, number, planned, start]) => [number, planned, start]),
    began.map((moment, index) => [String(index + 1), moment, moment]),
  );
  assert.ok(page.includes("&lt;b&gt;not today&lt;/b&gt;") && !page.includes("<b>not today"));
  assert.doesNotMatch(page, /webhook-token/);
  assert.match(page, /authorization: Bearer \[redacted\]/);
});

test("an exhausted event is sent again under its own id and bytes, by those who may", async () => {
  const { events, browser, merchant } = await shop();
  const [event] = await events(1);
  await deliver(refusing, 1);
  const [developer, viewer] = [await browser("developer"), await browser("viewer")];
  const path = `/deliveries/${event!.id}`;
  assert.doesNotMatch((await viewer.get(path)).body, /Send again/);
  assert.equal((await viewer.post(`${path}/replay`)).statusCode, 403);
  assert.match((await developer.get(path)).body, /Send again/);
  assert.equal((await developer.post(`${path}/replay`)).headers.location, path);
  assert.deepEqual(at.toSend, [merchant.id]);
  const bodies: string[] = [];
  await deliver(async ({ body }) => {
    bodies.push(body);
    return { outcome: "response", status: 200, retryAfter: null, text: "" };
  }, 0);
  assert.deepEqual(bodies, [event!.body]);
  const attempts = await attemptsOf(at.db, merchant.id, event!.id);
  assert.deepEqual(attempts.map(({ round, number }) => [round, number]).at(-1), [2, 1]);
  assert.match((await developer.get(path)).body, /round 2[\s\S]*when it was sent again/);
  const again = await developer.post(`${path}/replay`);
  assert.equal(again.statusCode, 409);
  assert.match(again.body, /it was delivered/);
});

const PAID = {
  name: "test_paid",
  text: "update cases set ended_at = $2, end_reason = 'paid' where merchant_id = $1 and invoice_id = $3",
};

test("a replay of many keeps to its filter, and says what it leaves out and why", async () => {
  const { events, browser, merchant } = await shop();
  const first = await events(2, "pause_collection");
  await events(3, "complete_dunning");
  await deliver(refusing, 3);
  await at.db.run(PAID, [merchant.id, at.ports.now(), first[0]!.invoiceId]);
  const developer = await browser("developer");
  const none = (await developer.get("/deliveries/replay?type=recovery_action")).body;
  assert.match(none, /No exhausted event fits these filters[\s\S]*<form method="get" class="filters"/);
  const preview = (await developer.get("/deliveries/replay?type=pause_collection")).body;
  assert.match(preview, /1 of 2 exhausted events would be sent again/);
  assert.match(preview, /1 left out: the invoice was paid meanwhile/);
  const asked = await developer.post("/deliveries/replay", {
    type: "pause_collection",
    createdFrom: "",
    createdTo: "",
  });
  const path = String(asked.headers.location);
  const under = (await developer.get(path)).body;
  assert.match(under, /data-live="1"[\s\S]*0 sent again, 0 left out, 2 to go[\s\S]*<progress max="2" value="0"/);
  const again = await developer.post("/deliveries/replay", { type: "", createdFrom: "", createdTo: "" });
  assert.equal(again.statusCode, 409, "one at a time");
  assert.equal(await at.work("replay"), true);
  const done = (await developer.get(path)).body;
  assert.match(done, /1 sent again, 1 left out\.[\s\S]*1 left out: the invoice was paid meanwhile/);
  assert.doesNotMatch(done, /data-live/);
  assert.match((await developer.get("/deliveries/replay")).body, new RegExp(`Earlier ones[\\s\\S]*href="${path}"`));
  const [entry, ask] = await auditOf(merchant);
  const { createdTo, ...details } = entry!.details;
  assert.deepEqual(
    [entry?.deed, details],
    ["delivery.replayed", { type: "pause_collection", replayed: 1, skipped: 1 }],
  );
  assert.deepEqual([ask?.deed, ask?.details.events, ask?.details.createdTo], ["delivery.replay_asked", 2, createdTo]);
  assert.match((await developer.get("/deliveries?state=exhausted")).body, />4 exhausted</);
  const viewer = await browser("viewer");
  assert.equal((await viewer.get(path)).statusCode, 403);
  const stranger = await (await shop()).browser("developer");
  assert.equal((await stranger.get(path)).statusCode, 404);
});

const auditOf = (merchant: Merchant) => listAudited(at.db, merchant.id, {}, 10);

test("pages of the list are reached one after the other, and a CSV holds them all", async () => {
  const { events, browser } = await shop();
  await events(120);
  const viewer = await browser("viewer");
  const seen: string[] = [];
  let path: string | undefined = "/deliveries?state=waiting";
  while (path) {
    const page: string = (await viewer.get(path)).body;
    seen.push(...[...page.matchAll(/href="\/deliveries\/([0-9a-f-]{36})"/g)].map(([, id]) => id!));
    path = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
  }
  assert.equal(new Set(seen).size, 120);
  assert.equal(seen.length, 120);
  const lines = (await viewer.get("/deliveries.csv?state=waiting")).body.trim().split("\r\n");
  assert.equal(lines.length, 121);
  assert.deepEqual(new Set(lines.slice(1).map((line) => line.split(",")[2])), new Set(seen));
});

test("events of another merchant are out of reach", async () => {
  const [mine, theirs] = [await shop(), await shop()];
  const [event] = await theirs.events(1);
  const developer = await mine.browser("developer");
  for (const path of [`/deliveries/${event!.id}`, "/deliveries/nothing"]) {
    assert.equal((await developer.get(path)).statusCode, 404);
    assert.ok((await developer.post(`${path}/replay`)).statusCode >= 404);
  }
});
