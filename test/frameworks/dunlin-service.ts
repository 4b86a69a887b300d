import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../../sdk/src/index.ts";
import { run } from "../../sdk/test/packed.ts";

const DUNLIN_PATH = join(import.meta.dirname, "../../bin/dunlin.js");

/** Starts Dunlin as its operator does: `dunlin serve` in its own folder, and commands beside it. */
export async function startService(folder: string, port: number, endpointPort: number, endpointCa: string) {
  const baseUrl = `https://localhost:${port}`;
  const env = {
    ...process.env,
    DUNLIN_DATA: join(folder, "data"),
    DUNLIN_PORT: String(port),
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpointPort}`,
    DUNLIN_WEBHOOK_CA: endpointCa,
  };
  const serving = spawn(process.execPath, [DUNLIN_PATH, "serve"], { env, stdio: ["ignore", "pipe", "pipe"] });
  const log = join(folder, "service.log");
  serving.stderr.on("data", (chunk: Buffer) => appendFileSync(log, chunk));
  await waitUntilReady(serving, log);
  const ca = readFileSync(join(env.DUNLIN_DATA, "tls/ca.pem"), "utf8");
  return {
    dunlin: (...words: string[]) => JSON.parse(run(process.execPath, [DUNLIN_PATH, ...words, "--json"], folder, env)),
    client: (apiKey: string) => createClient({ baseUrl, apiKey, ca }),
    async stop() {
      serving.kill("SIGTERM");
      if (serving.exitCode === null) await once(serving, "exit");
    },
  };
}

/** Resolves when the service reports that it is ready. Keeps reading its output, because a closed pipe would end it. */
function waitUntilReady(serving: ChildProcess, log: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let printed = "";
    serving.stdout!.on("data", (chunk) => {
      printed += chunk;
      if (printed.includes("dunlin is ready")) resolve();
    });
    serving.once("exit", () => reject(new Error(`dunlin serve ended:\n${readFileSync(log, "utf8")}`)));
  });
}
