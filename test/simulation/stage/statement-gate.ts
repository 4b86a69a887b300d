import { setTimeout as sleepReal, setImmediate as turn } from "node:timers/promises";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * The gate to the database: one statement at a time, the next one sampled from those waiting. The seed decides how transactions
 * of several actors interleave, so a run can be repeated.
 */
export interface StatementGate {
  enter(actor: string): Promise<void>;
  leave(): void;
  /** Stops the clock while the product takes real time, until the returned function is called. */
  holdTime(): () => void;
  /** Lets statements through, or time pass if there are none, until `isOver`. */
  drive(isOver: () => boolean): Promise<void>;
  passed(): number;
}

interface Options {
  time: VirtualTime;
  draw(): number;
  /** Returns how many statements wait for a lock that another transaction holds. */
  countBlocked(): Promise<number>;
}

/** A longer statement may wait for a lock whose owner waits at the gate. */
const LOCK_SUSPECTED_MS = 4;
const STATEMENT_MS = 1;
/** With no statement and no sleeper for so long, something hangs. */
const HANG_MS = 30_000;

export function createStatementGate({ time, draw, countBlocked }: Options): StatementGate {
  const waiting: { actor: string; order: number; open(): void }[] = [];
  let order = 0;
  let running = 0;
  let holds = 0;
  let onLeave = () => {};

  function letOneThrough() {
    // By name and not by arrival, which depends on socket timing.
    waiting.sort((a, b) => (a.actor === b.actor ? a.order - b.order : a.actor < b.actor ? -1 : 1));
    const actors = [...new Set(waiting.map(({ actor }) => actor))];
    const actor = actors[Math.floor(draw() * actors.length)]!;
    const index = waiting.findIndex((one) => one.actor === actor);
    const [next] = waiting.splice(index, 1);
    running++;
    time.pass(STATEMENT_MS);
    next!.open();
  }

  /** Waits for the end of a statement. Returns true if all running ones are blocked by others that wait here. */
  async function settled(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<"left" | "late">();
    onLeave = () => resolve("left");
    const patience = setTimeout(resolve, LOCK_SUSPECTED_MS, "late");
    const first = await promise;
    clearTimeout(patience);
    onLeave = () => {};
    if (first === "left" || waiting.length === 0) return false;
    return (await countBlocked()) >= running;
  }

  return {
    enter(actor) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ actor, order: order++, open: resolve });
      return promise;
    },
    leave() {
      running--;
      onLeave();
    },
    holdTime() {
      holds++;
      return () => {
        holds--;
      };
    },
    async drive(isOver) {
      let idleSinceMs: number | null = null;
      while (!isOver()) {
        await turn();
        if (running > 0 && !(await settled())) continue;
        if (waiting.length > 0) {
          letOneThrough();
          idleSinceMs = null;
        } else if (running === 0) {
          if (holds === 0 && time.wakeNext()) {
            idleSinceMs = null;
            continue;
          }
          idleSinceMs ??= performance.now();
          if (performance.now() - idleSinceMs > HANG_MS) throw new Error("the simulation hangs: no actor has work");
          await sleepReal(2);
        }
      }
    },
    passed: () => order,
  };
}
