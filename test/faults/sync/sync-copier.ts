// A merchant's program that keeps a copy of executed actions and can be killed at any time: it stores actions and token in one
// transaction.
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "#sdk";

const [baseUrl, apiKey, caPath, file] = process.argv.slice(2) as [string, string, string, string];
const db = new DatabaseSync(file);
db.exec(`pragma journal_mode = wal; pragma synchronous = normal;
  create table if not exists actions (place integer primary key, id text not null unique, action text not null);
  create table if not exists token (only_row integer primary key check (only_row = 1), token text not null)`);
const insert = db.prepare("insert into actions (id, action) values (?, ?)");
const setToken = db.prepare(
  "insert into token values (1, ?) on conflict (only_row) do update set token = excluded.token",
);
const storedToken = db.prepare("select token from token").get();
const client = createClient({ baseUrl, apiKey, ca: readFileSync(caPath) });

process.send?.("running");
for (let since = storedToken && String(storedToken.token); ; await sleep(20)) {
  for await (const { recoveryActions, token } of client.recoveryActions.sync({ since })) {
    db.exec("begin");
    // No "or ignore": a duplicate action ends this process with an error, which the campaign reports.
    for (const action of recoveryActions) insert.run(action.id, JSON.stringify(action));
    setToken.run(token);
    db.exec("commit");
    since = token;
  }
}
