import pino from "pino";
import type { Settings } from "../config.ts";
import { realPorts, SECRET_KEY } from "../delivery/deliverer.fixture.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../store/database.ts";
import type { Context } from "./command.ts";

/** What a command is run with that asks this database, and the lines that it prints. */
export function testContext(db: Database, settings: Partial<Settings> = {}, ports: Ports = realPorts) {
  const lines: string[] = [];
  const context: Context = {
    settings: settings as Settings,
    log: pino({ level: "silent" }),
    print: (line) => void lines.push(line),
    isTerminal: false,
    open: async () => ({
      db,
      walled: { of: () => db, close: async () => {} },
      ports,
      secretKey: SECRET_KEY,
      close: async () => {},
    }),
    realNow: realPorts.realNow,
    randomBytes: realPorts.randomBytes,
    stopped: new Promise(() => {}),
  };
  return { context, lines };
}
