/** The screen Live. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Live() {
  return (
    <>
      <Bar title="Live" />
      <Empty title="Not built yet" />
    </>
  );
}
