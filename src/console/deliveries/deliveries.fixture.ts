import { makeDeliverer, makeEvents, makeMerchant } from "../../delivery/deliverer.fixture.ts";
import type { Send } from "../../delivery/https/https-sender.ts";
import type { EventType } from "../../domain/event.ts";
import type { TestConsole } from "../console.fixture.ts";

export const endpointAnswering =
  (status: number, text = ""): Send =>
  async () => ({ outcome: "response", status, retryAfter: null, text });

export async function deliverForHours(at: TestConsole, send: Send, hours: number) {
  const deliverer = makeDeliverer({ db: at.db, ports: at.ports, send });
  const end = at.clock.serviceMs + hours * 3_600_000;
  for (;;) {
    await deliverer.deliverDue();
    if (at.clock.serviceMs >= end) break;
    const { rows } = await at.db.run<{ due: Date | null }>(
      { name: "test_next", text: "select min(due_at) as due from deliveries where due_at > $1" },
      [at.ports.now()],
    );
    const due = Math.min(end, rows[0]?.due?.getTime() ?? end);
    at.clock.monotonicMs += due - at.clock.serviceMs;
    at.clock.realMs += due - at.clock.serviceMs;
    at.clock.serviceMs = due;
  }
  await deliverer.stop();
}

export async function createDeliveriesShop(at: TestConsole) {
  const merchant = await makeMerchant(at.db);
  const events = (count: number, type?: EventType) => makeEvents(at.db, merchant, count, at.ports.now(), type);
  const browser = async (role: "developer" | "viewer") => at.browser(await at.person(role, merchant));
  return { merchant, events, browser };
}
