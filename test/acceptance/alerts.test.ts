import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadAllCommands } from "../../src/cli/commands.ts";
import { prepared } from "../../src/postgres/database.ts";
import { DAY, HOUR, MINUTE } from "../../src/recovery/stage.fixture.ts";
import { advanceMerchantClock } from "../../src/tables/merchant-clocks.ts";
import { groupsOf, parseExpression, selectorsOf } from "../alerts/alert-expression.ts";
import { readAlertGuide } from "../alerts/alert-rules.ts";
import { evaluate } from "../alerts/evaluate-alert.ts";
import { startMonitoredService } from "../alerts/monitored-service.ts";
import { metricLabelsIn } from "../alerts/scrapes.ts";

const { rules, runbook } = readAlertGuide();
const service = await startMonitoredService();
after(() => service.close());
const { stage, db, scrapes } = service;
const DASHBOARD = join(import.meta.dirname, "../../deploy/grafana/dunlin.json");
const OBJECTIVES = join(import.meta.dirname, "../../docs/guides/objectives.md");
/** "{{status}}" in the name of a line. */
const placeholdersOf = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
const SLEEP = prepared("test_sleep", "select pg_sleep(0.4)");

const isFiring = (name: string) => {
  const rule = rules.find((each) => each.name === name)!;
  return evaluate(rule.expression, scrapes, stage.now().getTime()).length > 0;
};

/** Locks a row of the database, and makes other statements wait for it until `look` is over. */
async function whileLocked(look: () => Promise<void>) {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [, ...more] = await Promise.all(Array.from({ length: 4 }, () => db.connect()));
  const holding = db.transaction(async (tx) => {
    await advanceMerchantClock(tx, service.merchantId, stage.now());
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  const ofPool = Array.from({ length: 3 }, () =>
    db.transaction((tx) => advanceMerchantClock(tx, service.merchantId, stage.now())),
  );
  const others = more.map((each) => advanceMerchantClock(each, service.merchantId, stage.now()));
  await sleep(300);
  await look();
  over.resolve();
  await Promise.all([holding, ...ofPool, ...others]);
  for (const each of more) await each.close();
}

/** Causes a fault, and reads the metrics as often as the rule needs. Ordered so that no fault causes the next one. */
const FAULTS: Record<string, () => Promise<unknown>> = {
  async DunlinDecidesLate() {
    await stage.invoice();
    await service.scrape(2 * MINUTE);
  },
  async DunlinCasesSetAside() {
    await service.event();
    await stage.decide();
    await service.scrape();
    await service.settle();
  },
  async DunlinLearnsLate() {
    await stage.transaction();
    await stage.decide();
    const { id } = await stage.untilSent();
    stage.wait(HOUR);
    await stage.transaction({ state: "PAID", recoveryActionId: id });
    await stage.decide();
    await service.scrape(2 * DAY);
  },
  DunlinLocks: () => whileLocked(service.scrape),
  async DunlinPoolUsedUp() {
    const all = Array.from({ length: 9 }, () => db.run(SLEEP));
    await service.scrape();
    await Promise.all(all);
  },
  async DunlinDatabaseAway() {
    service.presence.hearNothing(16_000);
    await service.scrape();
  },
  async DunlinDatabaseSlow() {
    await service.presence.begin(300);
    await service.scrape();
  },
  async DunlinProcessSilent() {
    await service.presence.loseAnother();
    await service.scrape();
  },
  async DunlinDiskFull() {
    service.machine.freeBytes = 9e8;
    await service.scrape();
  },
  async DunlinClock() {
    service.machine.wallMs += HOUR;
    service.wallClock.nowMs();
    await service.scrape();
  },
  async DunlinCertificate() {
    await service.certify(13);
    await service.scrape();
  },
  async DunlinApiFails() {
    for (let n = 0; n < 2; n++) {
      assert.equal(await service.push({ broken: true }), 500);
      await service.scrape();
    }
  },
  async DunlinApiSlow() {
    for (let n = 0; n < 2; n++) {
      await service.push({ ms: 2_000 });
      await service.scrape();
    }
  },
  async DunlinRequestsUnlogged() {
    await service.flood();
    await service.scrape();
  },
  async DunlinConnectionsRefused() {
    await service.crowd();
    await service.scrape();
  },
  async DunlinNothingIsPushed() {
    for (let hour = 0; hour < 7; hour++) await service.scrape(HOUR);
  },
  async DunlinSendsLate() {
    await stage.set({ webhookPaused: true }); // the other merchant's deliveries
    for (let n = 0; n < 2; n++) {
      service.answer(500);
      await service.event();
      await service.deliverer.deliverDue();
      service.answer(200);
      stage.wait(5_000); // the second attempt was due within a tenth of a second
      await service.deliverer.deliverDue();
      await service.scrape();
    }
  },
  async DunlinHalfOfAttemptsFail() {
    service.answer(500);
    for (let n = 0; n < 3; n++) await service.event();
    await service.deliverer.deliverDue();
    await service.scrape();
    service.answer(200);
    await service.deliverer.deliverDue();
  },
  async DunlinEndpointFails() {
    service.answer(500);
    await service.event();
    for (const waitMs of [0, 2 * MINUTE]) {
      stage.wait(waitMs);
      await service.deliverer.deliverDue();
    }
    await service.scrape();
  },
  async DunlinQueueGrows() {
    await service.event();
    await service.scrape(16 * MINUTE);
  },
  async DunlinEndpointPaused() {
    for (let hour = 0; hour < 78; hour += 2) {
      if (hour % 6 === 0) await service.event();
      stage.wait(2 * HOUR);
      await service.deliverer.deliverDue();
    }
    await service.scrape();
  },
  async DunlinUnsent() {
    await service.resume();
    service.outOfFiles(true);
    await service.event();
    await service.deliverer.deliverDue();
    await service.scrape();
    service.outOfFiles(false);
  },
  async DunlinBucketsUnsent() {
    await service.deliverer.stop(0);
    await service.scrape();
  },
  async DunlinDown() {
    await service.closeMetrics();
    await service.scrape();
  },
};

test("no alert fires while the service is healthy", async () => {
  await service.scrape();
  for (let n = 0; n < 3; n++) {
    assert.equal(await service.push(), 200);
    await service.event();
    await service.deliverer.deliverDue();
    await service.settle();
    await service.scrape();
  }
  assert.deepEqual(
    rules.filter(({ name }) => isFiring(name)).map(({ name }) => name),
    [],
  );
});

test("this test causes a fault for every alert", () => {
  assert.deepEqual(rules.map(({ name }) => name).sort(), Object.keys(FAULTS).sort());
});

for (const [name, cause] of Object.entries(FAULTS))
  test(`${name} fires during its fault, and not before`, async () => {
    // A busy machine may be slow without a fault: then this test begins with the next quick answer.
    for (let scrapes = 0; name === "DunlinDatabaseSlow" && isFiring(name) && scrapes < 60; scrapes++) {
      await sleep(250);
      await service.scrape();
    }
    assert.equal(isFiring(name), false);
    await cause();
    assert.equal(isFiring(name), true, scrapes.at(-1)!.text ?? "no answer");
  });

test("every rule uses metrics and labels that the service has", () => {
  const names = metricLabelsIn(scrapes.map(({ text }) => text ?? "").join("\n"));
  names.set("up", new Set());
  for (const { name, expression } of rules)
    for (const selector of selectorsOf(expression)) {
      const labels = names.get(selector.name);
      assert.ok(labels, `${name}: there is no metric ${selector.name}`);
      for (const { label } of selector.matchers)
        assert.ok(label === "job" || labels.has(label), `${name}: ${selector.name} has no label ${label}`);
    }
});

test("the dashboard and the objectives use metrics, labels and buckets that the service has", () => {
  const text = scrapes.map((scrape) => scrape.text ?? "").join("\n");
  const names = metricLabelsIn(text);
  names.set("up", new Set());
  const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
  };
  const queries = [...readFileSync(OBJECTIVES, "utf8").matchAll(/^ +expr: (.+)$/gm)].map(([, query]) => query!);
  const targets = [
    ...panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target }))),
    ...queries.map((expr) => ({ title: "objective", expr, legendFormat: "" })),
  ];
  assert.ok(queries.length === 4 && targets.length > 20);
  for (const { title, expr, legendFormat } of targets) {
    const expression = parseExpression(expr);
    for (const { name, matchers } of selectorsOf(expression)) {
      const labels = names.get(name);
      assert.ok(labels, `${title}: there is no metric ${name}`);
      const used = [...matchers.map(({ label }) => label), ...groupsOf(expression), ...placeholdersOf(legendFormat)];
      for (const label of used)
        assert.ok(
          ["job", "instance", "le"].includes(label) || labels.has(label),
          `${title}: ${name} has no label ${label}`,
        );
      for (const { label, value } of matchers)
        if (label === "le")
          assert.match(text, new RegExp(`^${name}\\{[^}]*le="${value}"`, "m"), `${title}: no bucket ${value}`);
    }
  }
});

test("every alert has a runbook entry that ends with a command of the program", async () => {
  assert.deepEqual([...runbook.keys()].sort(), rules.map(({ name }) => name).sort());
  const commands = await loadAllCommands();
  for (const [name, entry] of runbook) {
    const typed = /```\n(npx dunlin .*)\n```\s*$/.exec(entry)?.[1];
    assert.ok(typed, `${name} ends in no command`);
    const words = typed.replace(/^npx dunlin /, "");
    const command = commands.findLast((each) => words === each.name || words.startsWith(`${each.name} `));
    assert.ok(command, `${name}: ${typed}`);
    for (const [, option] of words.matchAll(/ --([a-z-]+)/g))
      assert.ok(option! in command.options, `${name}: ${command.name} has no --${option}`);
  }
});
