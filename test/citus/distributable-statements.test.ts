// A database that Citus spreads over servers runs the same statements as one PostgreSQL. This test reads each with PostgreSQL's
// parser. Whether Citus runs them, all tests show that get a cluster in DUNLIN_TEST_CITUS_URL.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { loadModule } from "libpg-query";
import { type CollectedStatement, collectStatements } from "./collect-statements.ts";
import { complainOf } from "./statement-rules.ts";

/** For loops, operators, metrics, and commands that are given an id. Citus asks every server. None of them locks rows. */
const OF_ALL_MERCHANTS = [
  "bring_cases_forward",
  "bring_first_deliveries_forward",
  "bring_later_deliveries_forward",
  "changed_merchants",
  "count_actions_by_status",
  "count_cases_aside",
  "count_endpoints",
  "delivery_depths",
  "due_merchants",
  "due_notice_checks",
  "experiments_to_count",
  "find_delivery",
  "find_request",
  "list_chat_urls",
  "list_connections",
  "list_merchants",
  "local_ports_of_connections",
  "merchants_with_event",
  "merchants_with_invoice",
  "merchants_with_lessons",
  "models_of_other_layouts",
  "next_due_case",
  "oldest_deliveries_due",
  "oldest_unlearned",
  "poked_merchants",
  "replay_candidates_by_filter",
  "replay_candidates_by_id",
  "sum_cases_by_outcome",
];

let statements: CollectedStatement[];
let spread: Set<string>;
before(async () => {
  await loadModule();
  // First, because it loads every module itself.
  statements = await collectStatements();
  const { COORDINATOR_TABLES } = await import("../../src/postgres/distribute.ts");
  const schema = readFileSync(join(import.meta.dirname, "../../schema.sql"), "utf8");
  const walled = [...schema.matchAll(/^alter table (\w+) force row level security/gm)].map(([, name]) => name!);
  spread = new Set(walled.filter((name) => !COORDINATOR_TABLES.includes(name)));
});

test("every statement can run in a database that is spread by merchant", () => {
  assert.ok(statements.length > 400, `${statements.length} statements`);
  assert.ok(spread.size > 40, `${spread.size} tables`);
  const ofAllMerchants = new Set(OF_ALL_MERCHANTS);
  const wrong = statements.flatMap((statement) =>
    complainOf(statement, { spread, ofAllMerchants }).map((complaint) => `${statement.name}: ${complaint}`),
  );
  assert.deepEqual(wrong, []);
  const unlisted = statements.filter((each) => complainOf(each, { spread, ofAllMerchants: new Set() }).length > 0);
  assert.deepEqual(unlisted.map(({ name }) => name).sort(), OF_ALL_MERCHANTS, "the list names no other statement");
});

for (const [text, complaint] of [
  ["select 1 from cases where merchant_id = $1 and invoice_id = $2", null],
  ["select 1 from merchants m join cases c on c.merchant_id = m.id where m.id = $1", null],
  ["select 1 from cases where id = $1", "it reads cases without their merchant"],
  ["select 1 from cases c, events e where c.merchant_id = $1 and e.type = $2", "it reads cases, events without"],
  ["select 1 from unnest($1::text[]) i (id), lateral (select from cases where invoice_id <> i.id) c", "it reads cases"],
  ["update cases set amount = 1 where invoice_id = $1", "it reads cases without their merchant"],
  ["delete from cases using events e where e.merchant_id = $1", "it reads cases, events without their merchant"],
  ["with recursive c as (select id from cases where merchant_id = $1 union select id from c) select from c", "recurs"],
  ["select set_config('dunlin.left', id::text, true) from cases where merchant_id = $1", "a setting carries data"],
  ["insert into cases (merchant_id, id) select $1::uuid, id from unnest($2::uuid[]) as new (id)", "rows selected for"],
  [
    `insert into merchant_clocks (merchant_id, last_at) values ($1, $2)
     on conflict (merchant_id) do update set last_at = merchant_clocks.last_at + interval '1 millisecond'`,
    "merchant_clocks adds an interval",
  ],
  [
    `with changed as (update cases set amount = 1 where merchant_id = $1 returning id),
       kept as (select id from cases where merchant_id = $1)
     select from kept, changed`,
    '"kept" must be materialized before the statement changes cases',
  ],
] as const)
  test(`${text.replaceAll(/\s+/g, " ").slice(0, 90)} ${complaint === null ? "is accepted" : "is refused"}`, () => {
    const found = complainOf({ name: "example", text }, { spread, ofAllMerchants: new Set() });
    if (complaint === null) assert.deepEqual(found, []);
    else assert.ok(found.join("; ").includes(complaint), found.join("; "));
  });

test("a statement of all merchants locks no rows", () => {
  const example = { name: "example", text: "select 1 from cases where ended_at is null for update" };
  const found = complainOf(example, { spread, ofAllMerchants: new Set(["example"]) });
  assert.deepEqual(found, ["it locks rows of several merchants"]);
});
