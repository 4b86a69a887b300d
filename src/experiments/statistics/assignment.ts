import { createHash } from "node:crypto";
import type { Arm, ArmHalf, Experiment } from "../../domain/experiment.ts";

export interface Assignment {
  arm: Arm;
  half: ArmHalf;
}

/**
 * The arm of a customer: the same one whenever it is asked for, for all of the customer's invoices, and without a relation to
 * the customer's arm in any other experiment.
 */
export function assignArm({ salt, share }: Pick<Experiment, "salt" | "share">, customerId: string): Assignment {
  const hash = createHash("sha256")
    .update(JSON.stringify([salt, customerId]))
    .digest();
  // 48 bits for the arm; a bit that has no part in them for the half.
  const draw = hash.readUIntBE(0, 6) / 2 ** 48;
  return { arm: draw < share ? "dunlin" : "merchant", half: hash[6]! < 128 ? 1 : 2 };
}
