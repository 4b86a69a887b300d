import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const OUTPUT_TIMEOUT_MS = 120_000;

/** A shell in which blocks are typed one after another. */
export interface Terminal {
  /** Runs a block to its end. @returns its standard output */
  run(commands: string): Promise<string>;
  /** Runs a block that continues until it is stopped. */
  start(commands: string): void;
  /** Waits until its whole standard output satisfies `shows`. @returns the output */
  until(shows: (printed: string) => boolean, what: string): Promise<string>;
  /** Ends the shell as Ctrl-C and closing the window do. */
  end(): Promise<void>;
}

/** Signals all processes of a terminal. @returns false if there are none */
function signalShell(shell: ChildProcess, name: "SIGINT" | "SIGKILL"): boolean {
  try {
    return process.kill(-shell.pid!, name);
  } catch {
    return false;
  }
}

/** @param begin  typed first; not part of the document */
export function openTerminal(cwd: string, env: Record<string, string | undefined>, begin: string): Terminal {
  const shell: ChildProcess = spawn("bash", ["--noprofile", "--norc"], { cwd, env, detached: true });
  let printed = "";
  let all = "";
  let blocks = 0;
  for (const stream of [shell.stdout!, shell.stderr!])
    stream.on("data", (chunk) => {
      all += chunk;
      if (stream === shell.stdout) printed += chunk;
    });
  shell.stdin!.write(`${begin}\nset -e\n`);

  async function until(shows: (printed: string) => boolean, what: string) {
    for (const startedMs = performance.now(); !shows(printed); await sleep(20)) {
      assert.equal(shell.exitCode, null, `${what}\n${all}`);
      assert.ok(
        performance.now() - startedMs < OUTPUT_TIMEOUT_MS,
        `not within ${OUTPUT_TIMEOUT_MS / 1000} s: ${what}\n${all}`,
      );
    }
    return printed;
  }
  function type(commands: string, then: string) {
    // A command that reads its input must not read the next command.
    const file = join(cwd, `.typed-${shell.pid}-${blocks++}.sh`);
    writeFileSync(file, commands);
    shell.stdin!.write(`. ${file} </dev/null\n${then}`);
  }
  return {
    until,
    start: (commands) => type(commands, ""),
    async run(commands) {
      const from = printed.length;
      const mark = `--- block ${blocks} has ended ---\n`;
      type(commands, `printf '%s' '${mark}'\n`);
      await until((text) => text.endsWith(mark), commands);
      return printed.slice(from, -mark.length);
    },
    async end() {
      // Emitted only after all its processes have ended, because they hold its output.
      const closed = once(shell, "close");
      shell.stdin!.end();
      if (!signalShell(shell, "SIGINT")) return;
      await Promise.race([closed, sleep(OUTPUT_TIMEOUT_MS, null, { ref: false })]);
      signalShell(shell, "SIGKILL");
    },
  };
}
