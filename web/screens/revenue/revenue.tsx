/** The screen Revenue. */
import { Empty } from "../../parts/states.js";
import { Bar } from "../../shell/bar.js";

export default function Revenue() {
  return (
    <>
      <Bar title="Revenue" />
      <Empty title="Not built yet" />
    </>
  );
}
