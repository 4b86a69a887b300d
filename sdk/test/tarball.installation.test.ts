import assert from "node:assert/strict";
import {
  copyFileSync,
  globSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";
import { oldestNode, packedSdk, projectWith, run } from "./packed.ts";

const ROOT = join(import.meta.dirname, "../..");
let packed: ReturnType<typeof packedSdk>;
let project: string;
let installed: string;
before(() => {
  packed = packedSdk();
  project = projectWith(packed.tarball, packed.folder, "empty-project");
  installed = join(project, "node_modules/@dunlin/sdk");
});
after(() => rmSync(packed.folder, { recursive: true, force: true }));

test("the tarball has at most 60 kB: compiled code, types, license and README, and no dependency", () => {
  assert.ok(statSync(packed.tarball).size <= 60_000, `${statSync(packed.tarball).size} bytes`);
  assert.deepEqual(readdirSync(installed).sort(), ["LICENSE", "README.md", "dist", "package.json"]);
  const sources = globSync("dist/**", { cwd: installed, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(sources.every(({ name }) => /\.(js|d\.ts)$/.test(name) && !/\.(test|fixture)\./.test(name)));
  assert.deepEqual(readdirSync(join(project, "node_modules")), [".package-lock.json", "@dunlin"]);
});

test("the types compile in another strict project, and none of them is any", () => {
  for (const path of globSync("dist/**/*.d.ts", { cwd: installed })) {
    const code = readFileSync(join(installed, path), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"]*"/g, "");
    assert.doesNotMatch(code, /\bany\b/, path);
  }
  symlinkSync(join(ROOT, "node_modules/@types"), join(project, "node_modules/@types"));
  writeFileSync(
    join(project, "main.ts"),
    `import { createClient, createWebhookReceiver, type EventStore, type Invoice, nextRoute } from "@dunlin/sdk";
     const client = createClient({ baseUrl: "https://localhost", apiKey: "k" });
     declare const cursor: AsyncIterable<Invoice>;
     const { records }: { records: number } = await client.ingest.invoices(cursor);
     for await (const action of client.recoveryActions.list({ status: "RECOVERY_ACTION_STATUS_SENT" })) action.id.trim();
     const receiver = createWebhookReceiver({
       auth: { bearer: String(records) },
       handle: (event) => (event.type === "recovery_action" ? event.data.idealRetryTime : event.data.invoiceId),
     });
     export const { POST } = nextRoute(receiver);
     declare const store: EventStore<{ query(text: string): Promise<void> }>;
     createWebhookReceiver({ auth: { bearer: "t" }, store, handle: ({ id }, client) => client.query(id) });
     // @ts-expect-error a state that there is not
     await client.ingest.invoices([{ id: "i", state: "PAID", customerId: "c", amount: 1, currency: "EUR", createdAt: "" }]);
     // @ts-expect-error a filter that there is not
     client.recoveryActions.list({ invoice: "i" });`,
  );
  const strict = [
    "--ignoreConfig",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2022",
  ];
  run(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), ...strict, "--types", "node", "main.ts"],
    project,
  );
});

test("client and receiver run on Node 20 when the machine has it", async () => {
  const { cert, key } = await createSelfSignedCertificate();
  writeFileSync(join(project, "cert.pem"), cert);
  writeFileSync(join(project, "key.pem"), key);
  copyFileSync(join(import.meta.dirname, "consumer.js"), join(project, "consumer.js"));
  assert.match(run(oldestNode(), ["consumer.js"], project), /^fine on v\d/);
});
