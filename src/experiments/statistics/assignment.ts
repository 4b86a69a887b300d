import { createHash } from "node:crypto";
import type { Arm, ArmHalf, Experiment } from "../../domain/experiment.ts";

export interface Assignment {
  arm: Arm;
  half: ArmHalf;
}

/** Returns a customer's arm: always the same within an experiment, and independent of other experiments. */
export function assignArm({ salt, share }: Pick<Experiment, "salt" | "share">, customerId: string): Assignment {
  const hash = createHash("sha256")
    .update(JSON.stringify([salt, customerId]))
    .digest();
  // 48 bits decide the arm; a bit outside them decides the half.
  const position = hash.readUIntBE(0, 6) / 2 ** 48;
  return { arm: position < share ? "dunlin" : "merchant", half: hash[6]! < 128 ? 1 : 2 };
}
