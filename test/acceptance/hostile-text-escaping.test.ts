import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestConsole } from "../../src/console/console.fixture.ts";
import { prepared } from "../../src/postgres/database.ts";
import { sqlState } from "../../src/postgres/database-errors.ts";
import { createPopulatedMerchant } from "../wall/populated-merchant.ts";

// Text from outside is in some text column, including tables yet to be added. Each of them is filled with hostile text, as far as
// its checks allow. Equal values stay equal, so that related rows are still found.

const HOSTILE = `"><script>alert(1)</script>'`;
const SCRIPT = /<script>alert|<script(?! type="module" src="\/console\.js")|=["']?javascript:|<[a-z][^>]*\son\w+=/i;

const at = await createTestConsole();
after(() => at.close());
const { merchant } = await createPopulatedMerchant(at, "aa");
const owner = await at.person("owner", merchant);
const browser = await at.browser(owner);

const COLUMNS = prepared(
  "test_text_columns",
  `select c.relname as "table", a.attname as "column", format_type(a.atttypid, null) as type
   from pg_class c join pg_attribute a on a.attrelid = c.oid
   where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_migrations'
     and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and format_type(a.atttypid, null) in ('text', 'jsonb') order by 1, 2`,
);

const QUOTED = `'${HOSTILE.replaceAll("'", "''")}'`;
const IN_JSON = `trim(both '"' from to_jsonb(${QUOTED}::text)::text)`;
const changesOf = (column: string, type: string) =>
  type === "jsonb"
    ? [`replace(${column}::text, ': "', ': "' || ${IN_JSON})::jsonb`]
    : [`${QUOTED} || ${column}`, `${column} || ${QUOTED}`];

/** Puts the text before or after each value of a column. Returns false if a check or a key allows neither. */
async function injectHostileText(table: string, column: string, type: string): Promise<boolean> {
  for (const change of changesOf(column, type))
    try {
      await at.db.run(prepared("", `update ${table} set ${column} = ${change}`));
      return true;
    } catch (error) {
      if (!/^(23|22)/.test(sqlState(error) ?? "")) throw error;
    }
  return false;
}

test("every page renders stored text without interpreting it as markup", async () => {
  const spoiled = new Set<string>();
  await at.db.run(prepared("", "drop rule audit_log_is_not_updated on audit_log"));
  for (const { table, column, type } of (await at.db.run<{ table: string; column: string; type: string }>(COLUMNS))
    .rows)
    if (!EXEMPT_COLUMNS.test(`${table}.${column}`) && (await injectHostileText(table, column, type)))
      spoiled.add(`${table}.${column}`);
  for (const each of EXPECTED) assert.ok(spoiled.has(each), each);
  assert.ok(spoiled.size > 40, `${spoiled.size} columns`);

  const seen = new Set<string>();
  const waiting = ["/overview", "/overview?period=12m", "/org/api_keys/new"];
  let shown = 0;
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (seen.has(path) || seen.size > 150) continue;
    seen.add(path);
    const reply = await browser.get(path);
    if (!/^text\/html/.test(String(reply.headers["content-type"]))) continue;
    assert.ok(reply.statusCode === 200 || reply.statusCode === 303, `${path}: ${reply.statusCode} ${reply.body}`);
    assert.doesNotMatch(reply.body, SCRIPT, path);
    if (reply.body.includes("&lt;script&gt;alert(1)&lt;/script&gt;")) shown++;
    // The documents contain only our own text.
    for (const [, href] of reply.body.matchAll(/href="(\/(?!docs)[^"]*)"/g)) waiting.push(unescaped(href!));
  }
  for (const page of [
    "/invoices",
    "/actions",
    "/deliveries",
    "/settings/webhook",
    "/org/members",
    "/org/audit",
    "/account",
  ])
    assert.ok(seen.has(page), page);
  assert.ok(shown > 20, `the text is shown on ${shown} of ${seen.size} pages`);
});

const unescaped = (text: string) =>
  text
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** These hold only our own text, or are checked before they are stored: a reader rightly treats other text as a bug. */
const EXEMPT_COLUMNS = /^people\.(zone|password)$|\.currency$|^decisions\./;
/** Texts from merchants, their endpoints and members. */
const EXPECTED = [
  "invoices.id",
  "invoices.customer_id",
  "transactions.payment_gateway_error_message",
  "delivery_attempts.response",
  "delivery_attempts.error",
  "merchants.name",
  "merchants.webhook_url",
  "api_keys.note",
  "people.name",
  "people.email",
  "invites.email",
  "audit_log.actor",
  "audit_log.details",
];
