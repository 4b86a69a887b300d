import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { testApi, testClock } from "../api.fixture.ts";
import { buildOpenApiText } from "../openapi/openapi-document.ts";
import { buildReferencePages } from "./api-reference.ts";
import { INDEX_FILE, listDocumentFiles, readChapters, sitePathOf } from "./contents.ts";
import { readMarkdown } from "./markdown.ts";
import { escapeHtml, renderInline } from "./markup.ts";
import { buildSite, type Site } from "./site.ts";

const BASE = "https://dunlin.example.com";
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let site: Site;
let pages: [path: string, html: string][];

before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, testClock());
  site = await buildSite(buildOpenApiText(BASE), BASE);
  pages = [...site].filter(([path]) => path.endsWith(".html"));
});
after(async () => {
  await api.close();
  await database.drop();
});

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
  webhooks: Record<string, { post: { operationId: string } }>;
}

test("openapi.json is served without a key and with this installation's URL", async () => {
  const reply = await api.http.inject("/openapi.json");
  assert.equal(reply.headers["content-type"], "application/json; charset=utf-8");
  assert.equal(reply.body, buildOpenApiText(BASE));
  assert.equal(reply.json().servers[0].url, BASE);
});

test("/docs/ serves the files of the site and nothing else", async () => {
  assert.equal((await api.http.inject("/docs")).headers.location, "/docs/");
  assert.equal((await api.http.inject("/docs/")).body, site.get("index.html"));
  assert.equal((await api.http.inject("/docs/api/")).body, site.get("api/index.html"));
  assert.equal((await api.http.inject((await api.http.inject("/llms.txt")).headers.location!)).statusCode, 200);
  for (const [path, type] of [
    ["guides/webhooks.html", "text/html"],
    ["guides/webhooks.md", "text/plain"],
    ["page.css", "text/css"],
    ["search.js", "text/javascript"],
    ["search.json", "application/json"],
    ["reference/dunlin.http", "text/plain"],
  ] as const) {
    const { statusCode, headers, body } = await api.http.inject(`/docs/${path}`);
    assert.equal(statusCode, 200, path);
    assert.equal(headers["content-type"], `${type}; charset=utf-8`);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(body, site.get(path), path);
  }
  assert.equal((await api.http.inject("/docs/api")).headers.location, "/docs/api/");
  for (const path of ["nothing.html", "../package.json", "%2e%2e/package.json", "guides", "constructor"])
    assert.equal((await api.http.inject(`/docs/${path}`)).statusCode, 404, path);
});

test("every document is listed in the index, and every operation and event has a page", () => {
  const listed = [INDEX_FILE, ...readChapters().flatMap(({ entries }) => entries.map(({ file }) => file))];
  assert.deepEqual(listed.filter((file) => file.startsWith("docs/")).sort(), listDocumentFiles());
  assert.equal(new Set(listed).size, listed.length);
  const { paths, webhooks } = JSON.parse(buildOpenApiText(BASE)) as Document;
  for (const { operationId } of [
    ...Object.values(paths).flatMap((each) => Object.values(each)),
    ...Object.values(webhooks).map(({ post }) => post),
  ])
    assert.ok(site.has(`api/${operationId}.html`), operationId);
});

test("every link leads to a page of the site and to an id on it", () => {
  const ids = (path: string) => [...site.get(path)!.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
  for (const [path, html] of pages) {
    const pageIds = ids(path);
    assert.equal(new Set(pageIds).size, pageIds.length, `${path}: duplicate ids`);
    for (const [, link] of html.matchAll(/ (?:href|src|data-index)="([^"]+)"/g)) {
      if (link!.startsWith("https://")) continue;
      const { pathname, hash } = new URL(link!, `https://site/${path}`);
      const target = decodeURI(pathname.slice(1));
      assert.ok(site.has(target), `${path}: ${link}`);
      if (hash) assert.ok(ids(target).includes(hash.slice(1)), `${path}: ${link}`);
    }
  }
});

test("pages load nothing from other origins, run one script, and comply with a strict content security policy", async () => {
  for (const [path, html] of pages) {
    assert.equal(/<style|<img|<iframe|<form|@import|url\(| on[a-z]+=| style=|javascript:/.test(html), false, path);
    const scripts = [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)];
    assert.deepEqual(
      scripts.map(([tag, inside]) => [/src="(?:\.\.\/)?search\.js"/.test(tag), inside]),
      [[true, ""]],
      path,
    );
  }
  const { headers, body } = await api.http.inject("/docs/");
  const policy = headers["content-security-policy"] as string;
  assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/);
  assert.ok(policy.startsWith("default-src 'none'; ") && policy.endsWith("; frame-ancestors 'none'"));
  assert.ok(body.includes(`content="${policy.replace("; frame-ancestors 'none'", "")}"`));
});

test("the elements of every page are properly nested", () => {
  for (const [path, html] of pages) {
    const open: string[] = [];
    for (const [, closing, name] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>/g)) {
      if (/^(meta|br|link|input|hr)$/.test(name!)) continue;
      if (closing) assert.equal(open.pop(), name, path);
      else open.push(name!);
    }
    assert.deepEqual(open, [], path);
    assert.equal(html.match(/<h1>/g)?.length, 1, path);
  }
});

test("every example call has the URL, the key from the environment and a JSON body", () => {
  const bodies = buildReferencePages(buildOpenApiText(BASE), BASE).map(({ body }) => body);
  const text = bodies.join("\n").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
  const calls = [...text.matchAll(/<pre tabindex="0">(curl [\s\S]*?)<\/pre>/g)].map(([, call]) => call!);
  assert.equal(calls.length, 16);
  for (const call of calls) {
    assert.match(call, /^curl "?https:\/\/dunlin\.example\.com\/[a-z]/);
    assert.equal(call.includes("$DUNLIN_API_KEY"), !/(healthz|readyz|network.json)"$/.test(call));
    const body = /-d '([\s\S]*)'$/.exec(call)?.[1];
    if (body !== undefined) JSON.parse(body);
  }
});

test("an example call names Dunlin's CA when the URL is on localhost", () => {
  const calls = (baseUrl: string) =>
    buildReferencePages(buildOpenApiText(baseUrl), baseUrl).flatMap(({ body }) => body.match(/>curl [^\n]*/g) ?? []);
  for (const call of calls("https://localhost:8443"))
    assert.match(call, /^>curl --cacert data\/tls\/ca\.pem &quot;https:\/\/localhost:8443\//);
  for (const call of calls(BASE)) assert.ok(!call.includes("--cacert"), call);
});

test("every page links to the console of the installation", () => {
  for (const [path, html] of pages) assert.ok(html.includes(`<a href="${BASE}/overview">Console</a>`), path);
});

test("the search index holds the text of the pages, and each entry links to its section", () => {
  const index = JSON.parse(site.get("search.json")!) as [string, string, string, string][];
  const found = (words: string) => index.filter(([, , , text]) => text.includes(words)).map(([path]) => path);
  assert.deepEqual(found("Answer 2xx within 30 seconds; aim for one second"), [
    "guides/webhooks.html#answer-first-act-afterwards",
  ]);
  assert.ok(found("idealRetryTime").includes("api/receiveRecoveryActionEvent.html"));
  for (const [path] of index) {
    const [file, id] = path.split("#");
    assert.ok(site.has(file!), path);
    if (id) assert.ok(site.get(file!)!.includes(` id="${id}"`), path);
  }
});

test("a document is escaped, and HTML or a broken link in it is an error", () => {
  const link = (href: string) => (href === "a.md" ? "a.html" : null);
  const read = (text: string) => readMarkdown(text, { link, baseUrl: "https://d.example" });
  const { title, html, sections } = read(
    "# A & B\n\nSee [`x<y`](a.md).\n\n## Same\n\n| a |\n|---|\n| `<b>` |\n\n## Same\n\n```sh\ncurl https://localhost:8443/<id>\n```\n",
  );
  assert.equal(title, "A & B");
  assert.ok(html.includes('<a href="a.html"><code>x&lt;y</code></a>'));
  assert.ok(html.includes("<td><code>&lt;b&gt;</code></td>"));
  assert.ok(html.includes('<pre tabindex="0">curl https://d.example/&lt;id&gt;</pre>'));
  assert.deepEqual(
    sections.map(({ id, text }) => [id, text.trim()]),
    [
      [null, "See x<y."],
      ["same", "a <b>"],
      ["same-1", "curl https://localhost:8443/<id>"],
    ],
  );
  assert.throws(() => read("# A\n\n<script>alert(1)</script>"), /HTML in a document/);
  assert.throws(() => read("# A\n\n[b](b.md)"), /b\.md, which leads nowhere/);
  assert.equal(sitePathOf("src/main.ts"), null);
});

test("every value is escaped", () => {
  assert.equal(escapeHtml(`<b a="1" b='2'>&`), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
  assert.equal(renderInline("a `<b>` c"), "a <code>&lt;b&gt;</code> c");
  const odd = buildReferencePages(buildOpenApiText(`${BASE}/<script>`), `${BASE}/<script>`);
  for (const { path, body } of odd) assert.equal(body.includes("<script"), false, path);
});
