import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Stripe from "stripe";
import { type StripeDouble, startStripeDouble } from "../../connectors/stripe/double/double-server.ts";
import { API_VERSION } from "../../connectors/stripe/stripe-account.ts";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

// `dunlin serve` and `dunlin connect stripe` as an operator starts them, and a double in place of Stripe.
const folder = mkdtempSync(join(tmpdir(), "dunlin-connect-"));
removeAtExit(folder);
exitWhenInterrupted();
const data = join(folder, "data");
const SCOPES = [
  ...["invoice_read", "invoice_write", "charge_read", "subscription_read", "customer_read", "payment_method_read"],
  ...["dispute_read", "event_read"],
];
let double: StripeDouble;
let settings: Record<string, string> = {};
const program = createProgram(folder, () => settings);
const children: ChildProcess[] = [];
let connectPort = 0;

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return name;
};

/** Starts a command and waits for a line of its output. */
async function start(words: readonly string[], line: RegExp): Promise<ChildProcess> {
  const child = program.start(words);
  children.push(child);
  let text = "";
  const seen = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk) => {
        text += chunk;
        if (line.test(text)) resolve();
      });
    child.once("exit", () => reject(new Error(`${words.join(" ")} ended: ${text}`)));
  });
  await seen;
  return child;
}

before(async () => {
  const keys = [
    { secret: "rk_test_enough", scopes: new Set(SCOPES) },
    { secret: "rk_test_blind", scopes: new Set(SCOPES.filter((scope) => scope !== "invoice_write")) },
    { secret: "sk_test_owner", scopes: null },
  ];
  double = await startStripeDouble({
    ...{ now: () => new Date(), apiVersion: API_VERSION, keys, askBank: () => ({ kind: "approved" }) },
    ...{ monotonicMs: () => performance.now(), perSecond: 100 },
  });
  connectPort = await findFreePort();
  settings = { DUNLIN_DATA: data, DUNLIN_PORT: String(await findFreePort()) };
  settings.DUNLIN_BASE_URL = `https://localhost:${settings.DUNLIN_PORT}`;
  await start(["serve"], /dunlin is ready/);
  file("stripe-key", "rk_test_enough");
});
after(async () => {
  for (const child of children.toReversed()) {
    if (child.exitCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  await double?.close();
  rmSync(folder, { recursive: true, force: true });
});

const connect = (over: Record<string, string> = {}, ...more: string[]) => {
  const options = Object.entries({ "stripe-url": double.url, "poll-seconds": "1", ...over }).flatMap(
    ([name, value]) => [`--${name}`, value],
  );
  return ["connect", "stripe", ...options, ...more];
};
const failures = async (over: Record<string, string> = {}, ...more: string[]) => {
  const { out, code } = await program.run(connect(over, "--check", ...more));
  const failed = out.split("\n").filter((line) => line.startsWith("fail"));
  assert.equal(code, failed.length > 0 ? 1 : 0, out);
  return failed;
};

test("--check names each missing piece in one line with its remedy, and changes nothing", async () => {
  assert.deepEqual(await failures({ "stripe-key-file": "stripe-key" }), []);
  const [scope] = await failures({ "stripe-key-file": file("blind", "rk_test_blind") });
  assert.match(scope!, /^fail {2}Invoices: write +the key lacks this permission \(rak_invoice_write\): add it /);
  assert.match(
    (await failures({ "stripe-key-file": file("wrong", "rk_test_other") }))[0]!,
    /Stripe does not know the key/,
  );
  assert.match(
    (await failures({ "stripe-key-file": file("live", "rk_live_x") }))[0]!,
    /a key of live mode: take one of test mode, or say --live/,
  );
  assert.match(
    (await failures({ "stripe-key-file": "stripe-key" }, "--live"))[0]!,
    /a key of test mode, and --live was given/,
  );
  assert.match(
    (await failures({ "stripe-key-file": "stripe-key", "webhook-secret-file": file("secret", "sk_x") }))[0]!,
    /does not begin with whsec_/,
  );
  const old = await startStripeDouble({
    ...{ now: () => new Date(), apiVersion: "2020-08-27", keys: [{ secret: "rk_test_enough", scopes: null }] },
    ...{ askBank: () => ({ kind: "approved" }), monotonicMs: () => performance.now() },
  });
  const [version] = await failures({ "stripe-key-file": "stripe-key", "stripe-url": old.url });
  assert.match(version!, /Invoices: read +Stripe refuses version 2026-10-28\.endive, .*: update Dunlin/);
  await old.close();
});

test("an account with a wrong key is not connected, and mails need a server and an address", async () => {
  const port = ["--port", String(connectPort)];
  const wrong = await program.run(connect({ "stripe-key-file": file("wrong", "rk_test_other") }, ...port));
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /The account was not connected\.\nfail {2}Invoices: read +Stripe does not know the key/);
  const unknown = await program.run(connect({}, ...port));
  assert.match(unknown.err, /This account is not connected yet\. Give its key: --stripe-key-file F/);
});

test("one command connects an account, whose failed invoice is taken over and retried", async () => {
  const port = ["--port", String(connectPort)];
  const first = await start(
    connect({ "stripe-key-file": "stripe-key" }, ...port),
    /Shadow mode is on: nothing is charged[\s\S]*Connected to Stripe in test mode/,
  );
  const [{ id: merchantId }] = JSON.parse((await program.run(["merchant", "list", "--json"])).out) as [{ id: string }];
  assert.deepEqual(await failures(), [], "the stored key is used");
  assert.match(
    (await program.run(connect({}, "--live", ...port))).err,
    /connected in test mode, and the two modes are/,
  );
  await program.run(["merchant", "set", merchantId, "--shadow", "no"]);
  first.kill("SIGTERM");
  await once(first, "exit");
  // The keys are stored, so the next start needs none.
  const second = await start(connect({}, ...port), /Connected to Stripe in test mode/);

  const stripe = new Stripe("sk_test_owner", { host: "127.0.0.1", port: double.port, protocol: "http" });
  const threeHoursAgo = Math.floor(Date.now() / 1_000) - 3 * 3_600;
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: threeHoursAgo });
  const customer = await stripe.customers.create({ test_clock: clock.id });
  const method = await stripe.paymentMethods.attach("pm_card_visa_chargeDeclinedInsufficientFunds", {
    customer: customer.id,
  });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: method.id } });
  const recurring = { interval: "month" } as const;
  const price = await stripe.prices.create({ currency: "eur", unit_amount: 4900, recurring, product: "prod_beans" });
  const subscription = await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
  await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: threeHoursAgo + 2 * 3_600 });
  const invoice = async () => (await stripe.invoices.list({ subscription: subscription.id })).data[0]!;
  const charges = async () => (await stripe.charges.list({ customer: customer.id })).data;
  const until = async (holds: () => Promise<boolean>, what: string) => {
    for (let looks = 0; looks < 200; looks++, await sleep(100)) if (await holds()) return;
    assert.fail(`${what} did not happen`);
  };
  await until(async () => (await invoice()).auto_advance === false, "the take-over");
  assert.equal((await invoice()).metadata!.dunlin, `dunlin-${merchantId}`);
  assert.equal((await charges()).length, 1);
  const retried = await program.run(["recovery", "retry-now", (await invoice()).id]);
  assert.equal(retried.code, 0, retried.err);
  await until(async () => (await charges()).length === 2, "the retry");
  await until(async () => {
    const { out } = await program.run(["explain", (await invoice()).id]);
    return /^Last done.*failed/m.test(out);
  }, "its outcome");

  const ended = await program.run(connect({}, "--disconnect"));
  assert.match(ended.out, /Disconnected\. 1 invoice was given back to Stripe\./, ended.err);
  assert.deepEqual([(await invoice()).auto_advance, (await invoice()).metadata], [true, {}]);
  if (second.exitCode === null) await once(second, "exit");
  assert.equal(second.exitCode, 78, "systemd does not start it again");
  const unconnected = await program.run(connect({}, ...port));
  assert.equal(unconnected.code, 78);
});
