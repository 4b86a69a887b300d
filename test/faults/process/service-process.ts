import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../../..");
const PROGRAM = join(ROOT, "bin", "dunlin.js");
/** A start may have to wait for recovery after a killed PostgreSQL. */
const READY_MS = 60_000;
/** A new process needs longer than this to send anything. By then the output of its killed predecessor has been read. */
const LOG_SETTLE_MS = 100;

/** One process of the service, in real time. */
export interface ProcessLife {
  from: number;
  end: "running" | "killed" | "stopped" | "by itself";
}

export interface ServiceProcess {
  lives: ProcessLife[];
  /** The number of the process that a request arriving now comes from. */
  life(): number;
  pid(): number;
  /** Resolves when it is ready. */
  start(): Promise<void>;
  /** Restarts it if it ended unexpectedly. */
  revive(): Promise<void>;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM. Returns how it ended and how long that took. */
  terminate(): Promise<{ code: number | string; ms: number }>;
  /** How often each line was logged. */
  logged: Map<string, number>;
  /** Lines of errors. */
  complaints: string[];
  /** Kills it at once, for the exit of this process. */
  abandon(): void;
}

export type Environment = Record<string, string>;

/** Creates the environment of child processes, without variables of ours that the service would read. */
export function createEnvironment(settings: Environment): Environment {
  const own = Object.entries(process.env).filter(([name]) => !/^(DUNLIN_|DATABASE_URL$|NODE_)/.test(name));
  return { ...Object.fromEntries(own as [string, string][]), ...settings };
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Runs a short command of the product. Returns its output. */
export async function runDunlin(env: Environment, words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let complaint = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    complaint += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`dunlin ${words[0]} ${words[1]} ended with ${code}: ${complaint}`);
  return out;
}

/**
 * @param onEnd  called if the service ended unexpectedly
 * @param words  arguments of the program
 */
export function createServiceProcess(
  env: Environment,
  onEnd: (how: string) => void,
  words = ["serve"],
): ServiceProcess {
  const lives: ProcessLife[] = [];
  const logged = new Map<string, number>();
  const complaints: string[] = [];
  let crash: string[] = [];
  let child: ChildProcess | undefined;
  let life = -1;

  function read(line: string) {
    let fields: { level?: string; msg?: string };
    try {
      fields = JSON.parse(line);
    } catch {
      crash.push(line);
      return;
    }
    const name = `${fields.level} ${fields.msg}`;
    logged.set(name, (logged.get(name) ?? 0) + 1);
    if ((fields.level === "error" || fields.level === "fatal") && logged.get(name)! <= 5) complaints.push(line);
  }

  async function start() {
    crash = [];
    const started = spawn(process.execPath, [PROGRAM, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
    child = started;
    const own: ProcessLife = { from: Date.now() + LOG_SETTLE_MS, end: "running" };
    lives.push(own);
    const number = lives.length - 1;
    setTimeout(() => {
      life = Math.max(life, number);
    }, LOG_SETTLE_MS);
    // "close", not "exit", because its last output has yet to be read.
    started.once("close", (code, signal) => {
      if (own.end !== "running") return;
      own.end = "by itself";
      onEnd(`it ended with ${code ?? signal}: ${crash.slice(0, 30).join("\n")}`);
    });
    createInterface({ input: started.stderr! }).on("line", read);
    const ready = new Promise<void>((resolve, reject) => {
      createInterface({ input: started.stdout! }).on("line", (line) => {
        if (line.startsWith("dunlin is ready")) resolve();
      });
      started.once("exit", () => reject(new Error("the service ended before it was ready")));
      setTimeout(() => reject(new Error(`the service was not ready within ${READY_MS} ms`)), READY_MS).unref();
    });
    await ready;
  }

  const isRunning = (process: ChildProcess) => process.exitCode === null && process.signalCode === null;

  async function end(signal: NodeJS.Signals, how: ProcessLife["end"]) {
    const ending = child!;
    if (!isRunning(ending)) return [ending.exitCode, ending.signalCode] as const;
    lives.at(-1)!.end = how;
    const exit = once(ending, "exit");
    ending.kill(signal);
    return (await exit) as [number | null, NodeJS.Signals | null];
  }

  return {
    lives,
    logged,
    complaints,
    life: () => life,
    pid: () => child!.pid!,
    start,
    async revive() {
      if (!isRunning(child!)) await start();
    },
    async kill() {
      await end("SIGKILL", "killed");
    },
    signal: (signal) => void child!.kill(signal),
    async terminate() {
      const began = performance.now();
      const patience = setTimeout(() => child!.kill("SIGKILL"), 60_000);
      const [code, signal] = await end("SIGTERM", "stopped");
      clearTimeout(patience);
      return { code: code ?? signal ?? "nothing", ms: Math.round(performance.now() - began) };
    },
    abandon() {
      if (!child || !isRunning(child)) return;
      lives.at(-1)!.end = "killed";
      child.kill("SIGKILL");
    },
  };
}
