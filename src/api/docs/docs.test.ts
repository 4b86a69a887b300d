import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../../../test/database.ts";
import { testApi, testClock } from "../api.fixture.ts";
import { openApiText } from "../openapi/document.ts";
import { escaped, inline } from "./markup.ts";
import { docsPage } from "./page.ts";

const BASE = "https://dunlin.example.com";
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let page: string;

before(async () => {
  database = await testDatabase();
  api = await testApi(database.db, testClock());
  page = (await api.http.inject("/docs")).body;
});
after(async () => {
  await api.close();
  await database.drop();
});

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
  webhooks: Record<string, { post: { operationId: string } }>;
}

test("openapi.json is served without a key, with this installation's address", async () => {
  const reply = await api.http.inject("/openapi.json");
  assert.equal(reply.headers["content-type"], "application/json; charset=utf-8");
  assert.equal(reply.body, openApiText(BASE));
  assert.equal(reply.json().servers[0].url, BASE);
});

test("the page has an anchor for each operation and event, and each of its links leads somewhere", () => {
  const { paths, webhooks } = JSON.parse(openApiText(BASE)) as Document;
  const operations = [
    ...Object.values(paths).flatMap((each) => Object.values(each)),
    ...Object.values(webhooks).map(({ post }) => post),
  ];
  const anchors = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(anchors).size, anchors.length);
  for (const { operationId } of operations) assert.ok(anchors.includes(operationId), operationId);
  const links = [...page.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href!);
  for (const link of links) assert.ok(link === "/openapi.json" || anchors.includes(link.slice(1)), link);
});

test("the page loads nothing, runs nothing and fits its own policy", async () => {
  assert.equal(/<script|<link|<img|<iframe|@import|url\(| on[a-z]+=| style=/.test(page), false);
  const { headers } = await api.http.inject("/docs");
  const style = /<style>([\s\S]*)<\/style>/.exec(page)![1]!;
  const hash = createHash("sha256").update(style).digest("base64");
  assert.equal(
    headers["content-security-policy"],
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.equal(headers["x-content-type-options"], "nosniff");
});

test("every element of the page is closed in the order in which it was opened", () => {
  const open: string[] = [];
  const body = page.replace(/<style>[\s\S]*<\/style>/, "");
  for (const [, closing, name] of body.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
    if (/^(meta|br)$/.test(name!)) continue;
    if (closing) assert.equal(open.pop(), name);
    else open.push(name!);
  }
  assert.deepEqual(open, []);
});

test("each call can be pasted: address, key from the environment, and a body that is JSON", () => {
  const text = page.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
  const calls = [...text.matchAll(/<pre tabindex="0">(curl [\s\S]*?)<\/pre>/g)].map(([, call]) => call!);
  assert.equal(calls.length, 7);
  for (const call of calls) {
    assert.match(call, /^curl "?https:\/\/dunlin\.example\.com\/[a-z]/);
    assert.equal(call.includes("$DUNLIN_API_KEY"), !/(healthz|readyz|network.json)"$/.test(call));
    const body = /-d '([\s\S]*)'$/.exec(call)?.[1];
    if (body !== undefined) JSON.parse(body);
  }
});

test("what is shown is text, whatever stands in it", () => {
  assert.equal(escaped(`<b a="1" b='2'>&`), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
  assert.equal(inline("a `<b>` c"), "a <code>&lt;b&gt;</code> c");
  const odd = docsPage(openApiText(`${BASE}/<script>`), `${BASE}/<script>`);
  assert.equal(odd.includes("<script"), false);
});
