// A process of `bench:console`: the service over one merchant's year.
import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { beginSession } from "../../src/auth/sessions.ts";
import { SESSION_COOKIE } from "../../src/console/visit.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { start } from "../../src/start.ts";
import { addMember } from "../../src/tables/members.ts";
import { insertPerson } from "../../src/tables/people.ts";
import { createScratchSettings, readDatabaseFacts } from "../scratch-database.ts";
import { serveRequests } from "../worker-process.ts";
import { fillConsole } from "./fill-console-tables.ts";

export interface ConsoleFacts {
  origin: string;
  ca: string;
  cookie: string;
  server: string;
  actions: number;
  deliveries: number;
  events: number;
}

/** With indexes and sort space. */
const BYTES_PER_ACTION = 1_700;
const BYTES_PER_DELIVERY = 900;

const { settings, log, remove } = await createScratchSettings();
const running = await start({
  settings,
  roles: new Set(["api", "console"]),
  log,
  onFatal: (error) => {
    throw error;
  },
});
const { owner, db, ports, secretKeys, address } = running.store;

async function make({ actions, deliveries }: { actions: number; deliveries: number }): Promise<ConsoleFacts> {
  const { bavail, bsize } = await statfs(settings.dataDir);
  const needed = actions * BYTES_PER_ACTION + deliveries * BYTES_PER_DELIVERY;
  if (bavail * bsize < needed)
    throw new Error(`${Math.ceil(needed / 1e9)} GB of disk are needed in ${settings.dataDir}`);
  const merchant = await createMerchant(owner, "Bench", {}, secretKeys, ports);
  const person = {
    id: ports.newId(),
    email: "owner@example.com",
    name: "Owner",
    password: "-",
    zone: "Europe/Berlin",
    theme: "system",
    createdAt: ports.now(),
  } as const;
  await insertPerson(db, person);
  await addMember(db, merchant.id, person.id, "owner", ports.now());
  const token = await beginSession(db, person, undefined, ports);
  const say = (line: string) => process.stderr.write(`  ${line}\n`);
  const counted = await fillConsole(owner, { merchantId: merchant.id, actions, deliveries, until: ports.now() }, say);
  const { server } = await readDatabaseFacts(owner, address, settings.dataDir);
  const ca = readFileSync(running.caPath!, "utf8");
  return { origin: settings.authUrl, ca, cookie: `${SESSION_COOKIE}=${token}`, server, ...counted };
}

/** After garbage collection if it can be triggered. */
const memory = () => process.memoryUsage().rss;

serveRequests({ make, memory }, async () => {
  await running.stop();
  await remove();
});
