// The part of the animation library that the page uses, loaded after the first paint.
import { domAnimation } from "motion/react";

export default domAnimation;
