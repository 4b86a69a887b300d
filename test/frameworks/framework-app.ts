import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { projectWith, run } from "../../sdk/test/packed.ts";
import type { CertifiedIdentity } from "../self-signed-certificate.ts";

export const FRAMEWORKS = ["node", "express", "fastify", "hono", "next"] as const;
export type Framework = (typeof FRAMEWORKS)[number];

export interface AppSettings {
  port: number;
  token: string;
  secret: string;
}

/** A merchant's app in its own process, which can be killed at any time. */
export interface FrameworkApp {
  url: string;
  start(): Promise<void>;
  /** Kills it with SIGKILL and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
  /** Makes the store refuse. */
  tell(trouble: "none" | "full" | "broken"): Promise<void>;
  /** Returns ids and types in the table that the handler writes to. */
  handled(): { id: string; type: string }[];
}

/** Creates the app of a framework in an empty project with the installed tarball. */
export function createApp(
  framework: Framework,
  tarball: string,
  parent: string,
  tls: CertifiedIdentity,
  settings: AppSettings,
): FrameworkApp {
  const project = projectWith(tarball, parent, framework);
  const database = join(project, "events.sqlite");
  const env = {
    ...process.env,
    DATABASE: database,
    PORT: String(settings.port),
    WEBHOOK_TOKEN: settings.token,
    WEBHOOK_SECRET: settings.secret,
  };
  writeFileSync(join(project, "cert.pem"), tls.cert);
  writeFileSync(join(project, "key.pem"), tls.key);
  for (const name of ["receiver.js", "serving.js", `${framework}.js`])
    copyFileSync(join(import.meta.dirname, "apps", name), join(project, name));
  const example = readFileSync(join(import.meta.dirname, "../../sdk/examples/sqlite-event-store.ts"), "utf8");
  writeFileSync(join(project, "sqlite-event-store.js"), stripTypeScriptTypes(example));
  if (framework === "next") buildNext(project, env);

  let child: ChildProcess | null = null;
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = null;
    ending?.kill(signal);
    if (ending?.exitCode === null && ending.signalCode === null) await once(ending, "exit");
  };
  const start = async () => {
    child = spawn(process.execPath, [`${framework}.js`], {
      cwd: project,
      env,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let errors = "";
    child.stderr!.on("data", (chunk) => {
      errors += chunk;
    });
    const [told] = await Promise.race([once(child, "message"), once(child, "exit")]);
    if (told !== "listening") throw new Error(`the app of ${framework} ended: ${errors}`);
  };
  return {
    url: `https://127.0.0.1:${settings.port}/dunlin`,
    start,
    async crash() {
      await end("SIGKILL");
      await start();
    },
    stop: () => end("SIGTERM"),
    async tell(trouble) {
      child!.send(trouble);
      await once(child!, "message");
    },
    handled() {
      const db = new DatabaseSync(database, { readOnly: true });
      const rows = db.prepare("select id, type from handled").all() as { id: string; type: string }[];
      db.close();
      return rows;
    },
  };
}

function buildNext(project: string, env: NodeJS.ProcessEnv) {
  mkdirSync(join(project, "app/dunlin"), { recursive: true });
  copyFileSync(join(import.meta.dirname, "apps/next-route.js"), join(project, "app/dunlin/route.js"));
  writeFileSync(
    join(project, "app/layout.js"),
    'export default ({ children }) => <html lang="en"><body>{children}</body></html>;\n',
  );
  const next = createRequire(join(project, "package.json")).resolve("next/dist/bin/next");
  // The build loads the route, and with it the receiver, which needs its settings as in production.
  run(process.execPath, [next, "build"], project, { ...env, NEXT_TELEMETRY_DISABLED: "1" });
}
