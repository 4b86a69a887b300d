import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Send } from "../../delivery/https/https-sender.ts";
import { listAttemptsOfEvent } from "../../tables/delivery-attempts.ts";
import { createTestConsole, type TestConsole } from "../console.fixture.ts";
import { createDeliveriesShop, deliverForHours, endpointAnswering } from "./deliveries.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const refusingEndpoint = endpointAnswering(500, "<b>not today</b>");
const acceptingEndpoint = endpointAnswering(200);
const deliver = (send: Send, hours: number) => deliverForHours(at, send, hours);
const shop = () => createDeliveriesShop(at);

test("the list counts failed deliveries and shows the state of each event", async () => {
  const { events, browser } = await shop();
  const developer = await browser("developer");
  assert.match((await developer.get("/deliveries")).body, /No event yet/);
  assert.match(
    (await developer.get("/deliveries/replay")).body,
    /there is nothing to send again[^<]*<\/p><\/div>\s*<\/main>/,
  );
  const [lost] = await events(1);
  await deliver(refusingEndpoint, 2);
  const [taken] = await events(1);
  await deliver(acceptingEndpoint, 0);
  const page = (await developer.get("/deliveries")).body;
  assert.match(page, />1 exhausted<\/a>: every attempt failed/);
  assert.match(page, /50\.0% of 2 events were accepted at the first attempt/);
  const first = /<tr><t[hd][^>]*><a href="\/deliveries\/([^"]+)"/.exec(page)![1];
  assert.equal(first, taken!.id);
  const only = (await developer.get("/deliveries?state=exhausted&type=recovery_action&code=500")).body;
  assert.ok(only.includes(lost!.id) && !only.includes(taken!.id));
  assert.match((await developer.get("/deliveries?invoiceId=nobody")).body, /No event matches/);
});

test("failed events that wait for another attempt are shown before the endpoint counts as failing", async () => {
  const { events, browser } = await shop();
  const viewer = await browser("viewer");
  const lead = async () => /class="lead">([^<]*)/.exec((await viewer.get("/deliveries")).body)![1];
  await events(1);
  assert.equal(await lead(), "No failed deliveries");
  await deliver(refusingEndpoint, 0.01);
  await events(1);
  assert.equal(await lead(), "1 failed event waits for another attempt");
  await deliver(refusingEndpoint, 0.01);
  assert.equal(await lead(), "2 failed events wait for another attempt");
  await deliver(acceptingEndpoint, 1);
  assert.equal(await lead(), "No failed deliveries");
});

test("failed events that wait are shown beside exhausted ones, on the overview too", async () => {
  const { events, browser } = await shop();
  const viewer = await browser("viewer");
  const overview = async () => (await viewer.get("/overview")).body;
  await events(1);
  assert.doesNotMatch(await overview(), /Dunlin gave up/);
  await deliver(refusingEndpoint, 2);
  await events(1);
  await deliver(refusingEndpoint, 0.01);
  await events(1);
  assert.match(
    (await viewer.get("/deliveries")).body,
    />1 exhausted<\/a>: every attempt failed; 1 failed event waits for another attempt<\/p>/,
  );
  assert.match(await overview(), /<a href="\/deliveries\?state=exhausted"[\s\S]{0,80}Dunlin gave up 1 event</);
});

test("events are listed by the time of their plan, next to the time of their creation", async () => {
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

test("the chart groups attempts by the viewer's hours, even with a half-hour offset", async () => {
  const { events, browser } = await shop();
  const developer = await browser("developer");
  assert.doesNotMatch((await developer.get("/deliveries")).body, /Attempts of the last 24 hours/);
  await events(3);
  await deliver(acceptingEndpoint, 0);
  await events(1);
  await deliver(refusingEndpoint, 0.001);
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

test("an attempt counts on the day it was made, no matter when its event was planned", async () => {
  const { events, browser } = await shop();
  const viewer = await browser("viewer");
  await events(2);
  at.clock.serviceMs += 20 * 86_400_000;
  await deliver(acceptingEndpoint, 0);
  const page = (await viewer.get("/deliveries")).body;
  assert.match(page, /100\.0% of 2 events were accepted at the first attempt/);
  assert.match(page, /Attempts of the last 24 hours: 2 delivered, 0 failed/);
  at.clock.serviceMs += 25 * 3_600_000;
  await events(1);
  const dayLater = (await viewer.get("/deliveries")).body;
  assert.doesNotMatch(dayLater, /were accepted at the first attempt|Attempts of the last 24 hours/);
});

test("an unknown filter or value shows an error instead of an empty page", async () => {
  const viewer = await (await shop()).browser("viewer");
  for (const [query, says] of [
    ["state=lost", /must be one of waiting, delivered/],
    ["colour=red", /no parameter &quot;colour&quot;/],
    ["code=9", /must be a status/],
    ["state=waiting&state=delivered", /more than once/],
    ["createdFrom=yesterday", /must be a time/],
    ["createdFrom=2026-02-30T12:00:00Z", /must be a time/],
  ] as const) {
    const reply = await viewer.get(`/deliveries?${query}`);
    assert.equal(reply.statusCode, 400, query);
    assert.match(reply.body, says);
  }
});

test("a local time in a filter becomes UTC in the address and shows everyone the same rows", async () => {
  const viewer = await (await shop()).browser("viewer");
  await viewer.post("/account", { zone: "Europe/Berlin", theme: "system" });
  const moved = await viewer.get("/deliveries?state=&createdFrom=2026-07-01T12:00&createdTo=");
  assert.equal(moved.headers.location, "/deliveries?createdFrom=2026-07-01T10%3A00%3A00Z");
  const page = (await viewer.get(String(moved.headers.location))).body;
  assert.match(page, />Created from: 1 Jul 2026 12:00<a/);
});

test("planned attempts are listed, with a countdown to the next one", async () => {
  const { events, browser } = await shop();
  const [event] = await events(1);
  await deliver(refusingEndpoint, 0.01);
  const viewer = await browser("viewer");
  const page = (await viewer.get(`/deliveries/${event!.id}`)).body;
  const toCome = /<tr><td[^>]*>(\d) of 6<\/td><td[^>]*><time datetime="([^"]+)"[^\n]* data-head="Duration"><\/td>/g;
  const rows = [...page.matchAll(toCome)].map(([, n, at]) => [n, at!]);
  const [next, last] = rows.map(([, planned]) => new Date(planned!).getTime());
  assert.deepEqual(
    rows.map(([number]) => number),
    ["5", "6"],
  );
  assert.equal(last! - next!, 30 * 60_000);
  const left = next! - at.clock.serviceMs;
  assert.match(page, new RegExp(`data-countdown="${left}" data-rate="1">in 14 minutes</span>`));
  assert.match(page, /if the previous one fails immediately/);
  assert.match((await viewer.get("/deliveries?state=waiting")).body, new RegExp(`data-countdown="${left}"`));
});

test("attempts are shown next to their plan: 0, 100 ms, 5 s, 15 s, 15 min, 30 min after the previous one", async () => {
  const { events, browser, merchant } = await shop();
  const [event] = await events(1);
  await deliver(refusingEndpoint, 1);
  const attempts = await listAttemptsOfEvent(at.db, merchant.id, event!.id);
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

test("pages of the list follow each other without gaps, and the CSV contains all rows", async () => {
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

test("a search finds events by the start of their id or their invoice's, and counts them", async () => {
  const { events, browser } = await shop();
  const created = await events(4);
  const viewer = await browser("viewer");
  const found = async (query: string) => {
    const page = (await viewer.get(`/deliveries?${query}`)).body;
    return [...page.matchAll(/href="\/deliveries\/([0-9a-f-]{36})"/g)].map(([, id]) => id!);
  };
  const [first] = created;
  assert.deepEqual(await found(`q=${first!.id.toUpperCase()}`), [first!.id]);
  assert.equal((await found(`q=${first!.id.slice(0, 8)}`)).length >= 1, true);
  const { invoiceId } = first!;
  const sameStart = created.filter((event) => event.invoiceId.startsWith(invoiceId)).map(({ id }) => id);
  assert.deepEqual(new Set(await found(`q=${encodeURIComponent(invoiceId)}`)), new Set(sameStart));
  assert.deepEqual(await found("q=nothing"), []);
  const page = (await viewer.get(`/deliveries?state=waiting&q=${encodeURIComponent(invoiceId)}`)).body;
  assert.match(page, new RegExp(`list-sum">${sameStart.length} event`));
  assert.match(page, new RegExp(`Waiting <span class="count">${sameStart.length}</span>`));
});

test("events of another merchant are not accessible", async () => {
  const [mine, theirs] = [await shop(), await shop()];
  const [event] = await theirs.events(1);
  const developer = await mine.browser("developer");
  for (const path of [`/deliveries/${event!.id}`, "/deliveries/nothing"]) {
    assert.equal((await developer.get(path)).statusCode, 404);
    assert.ok((await developer.post(`${path}/replay`)).statusCode >= 404);
  }
});
