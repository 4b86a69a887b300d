import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkSchedule } from "./work-schedule.ts";

test("work runs at its own time and in order, including added work, and late work runs next", () => {
  const agenda = createWorkSchedule();
  const done: string[] = [];
  const note = (name: string) => (at: Date) => void done.push(`${name}@${at.getTime()}`);
  agenda.add(30, note("c"));
  agenda.add(10, (at) => {
    note("a")(at);
    agenda.add(15, note("added"));
    agenda.add(5, note("late"));
  });
  agenda.add(20, note("b1"));
  agenda.add(20, note("b2"));
  agenda.run(new Date(25));
  assert.deepEqual(done, ["a@10", "late@10", "added@15", "b1@20", "b2@20"]);
  agenda.add(1, note("past"));
  assert.equal(agenda.nextAt()?.getTime(), 25);
  agenda.run(new Date(40));
  assert.deepEqual(done.slice(5), ["past@25", "c@30"]);
  assert.equal(agenda.nextAt(), null);
});
