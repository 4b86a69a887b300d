import { PassThrough, Readable } from "node:stream";
import pino from "pino";
import type { Settings } from "../config/config.ts";
import { realPorts, SECRET_KEYS } from "../delivery/deliverer.fixture.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import { createMachineClock } from "../process/clock.ts";
import type { Command, CommandContext, OptionValues } from "./command.ts";

export function createTestContext(
  db: Database,
  settings: Partial<Settings> = {},
  ports: Ports = realPorts,
  tenantDb: TenantDatabase = { of: () => db, close: async () => {} },
) {
  const lines: string[] = [];
  const output = new PassThrough();
  const context: CommandContext = {
    settings: settings as Settings,
    log: pino({ level: "silent" }),
    print: (line) => void lines.push(line),
    isTerminal: false,
    output,
    input: () => Readable.from([]),
    stderr: { print: (line) => void lines.push(line), isTerminal: false },
    open: async () => ({
      db,
      tenantDb,
      owner: db,
      ports,
      clock: createMachineClock(),
      secretKeys: SECRET_KEYS,
      close: async () => {},
    }),
    server: () => Promise.reject(new Error("this context has no server")),
    realNow: realPorts.realNow,
    monotonicMs: realPorts.monotonicMs,
    randomBytes: realPorts.randomBytes,
    stopped: new Promise(() => {}),
  };
  return { context, lines, output };
}

/** Returns what the command printed. */
export async function runAndCapture(
  db: Database,
  command: Command,
  values: OptionValues,
  positionals: readonly string[],
) {
  const { context, lines } = createTestContext(db);
  await command.run(context, values, [...positionals]);
  return lines.join("\n");
}
