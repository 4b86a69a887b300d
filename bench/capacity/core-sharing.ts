/** Simulated time, in which tasks share cores evenly. */
export interface SharedCores {
  nowMs(): number;
  /**
   * Uses CPU, then calls `done`.
   *
   * @param thread  tasks of one thread share one core
   */
  compute(cpuMs: number, thread: string | null, done: () => void): void;
  at(atMs: number, act: () => void): void;
  /** Calls `act` when the lock is free, in the order of the calls. */
  lock(name: string, act: (release: () => void) => void): void;
  /** Until nothing is left to do, or the time is over. */
  run(untilMs: number): void;
  /** CPU milliseconds by thread; the rest is under "". */
  usedMs(): ReadonlyMap<string, number>;
}

interface Task {
  leftMs: number;
  thread: string | null;
  done: () => void;
}

interface Timer {
  atMs: number;
  act: () => void;
}

const NEARLY_DONE_MS = 1e-9;

/** @param slowdown  by other programs: 2 if each task takes twice as long */
export function createSharedCores(cores: number, slowdown: number): SharedCores {
  let nowMs = 0;
  const tasks = new Set<Task>();
  const timers: Timer[] = [];
  const usedMs = new Map<string, number>();
  const locks = new Map<string, ((release: () => void) => void)[]>();

  /** Inserts in order: there are few timers besides the arrivals, which come in order. */
  function at(atMs: number, act: () => void) {
    let place = timers.length;
    while (place > 0 && timers[place - 1]!.atMs < atMs) place--;
    timers.splice(place, 0, { atMs: Math.max(nowMs, atMs), act });
  }

  function rates(): Map<Task, number> {
    const perThread = new Map<string, number>();
    for (const { thread } of tasks) if (thread !== null) perThread.set(thread, (perThread.get(thread) ?? 0) + 1);
    const wanted = new Map<Task, number>();
    for (const task of tasks) wanted.set(task, task.thread === null ? 1 : 1 / perThread.get(task.thread)!);
    const total = wanted.values().reduce((sum, rate) => sum + rate, 0);
    const share = Math.min(1, cores / total) / slowdown;
    for (const [task, rate] of wanted) wanted.set(task, rate * share);
    return wanted;
  }

  function passTime(toMs: number, speeds: ReadonlyMap<Task, number>) {
    for (const [task, rate] of speeds) {
      const did = (toMs - nowMs) * rate;
      task.leftMs -= did;
      const name = task.thread ?? "";
      usedMs.set(name, (usedMs.get(name) ?? 0) + did);
    }
    nowMs = toMs;
  }

  function release(name: string) {
    const waiting = locks.get(name)!;
    waiting.shift();
    if (waiting.length === 0) locks.delete(name);
    else waiting[0]!(() => release(name));
  }

  return {
    nowMs: () => nowMs,
    compute(cpuMs, thread, done) {
      if (cpuMs <= 0) done();
      else tasks.add({ leftMs: cpuMs, thread, done });
    },
    at,
    lock(name, act) {
      const waiting = locks.get(name) ?? [];
      locks.set(name, waiting);
      waiting.push(act);
      if (waiting.length === 1) act(() => release(name));
    },
    run(untilMs) {
      while (tasks.size > 0 || timers.length > 0) {
        const speeds = rates();
        let nextMs = timers.at(-1)?.atMs ?? Number.POSITIVE_INFINITY;
        for (const [task, rate] of speeds) nextMs = Math.min(nextMs, nowMs + task.leftMs / rate);
        if (nextMs > untilMs) return;
        passTime(nextMs, speeds);
        const ended = [...tasks].filter(({ leftMs }) => leftMs <= NEARLY_DONE_MS);
        for (const task of ended) tasks.delete(task);
        for (const task of ended) task.done();
        if (ended.length === 0 && (timers.at(-1)?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) timers.pop()!.act();
      }
    },
    usedMs: () => usedMs,
  };
}
