import { nextRoute } from "@dunlin/sdk";
import { receiver } from "../../receiver.js";

export const { POST } = nextRoute(receiver);
