package sonde;

/** The agent that records this program, if there is one: it supplies these methods itself. */
final class Agent {
    private Agent() {}

    /** Set and cleared by the agent, too. */
    static volatile boolean present = isHere();

    private static boolean isHere() {
        try {
            return isActive();
        } catch (UnsatisfiedLinkError nobody) {
            return false;
        }
    }

    static native boolean isActive();

    /** The number of a new span, 0 if it is not recorded; within the one around it, or that one. */
    static native int begin(String name, int within);

    static native void end(int number);

    static native void attribute(int number, String text);

    static native void mark(String text);

    static native void control(boolean pause);

    /** The recorder's answer to a command, null if there is none. */
    static native String ask(String command);

    /** False for a virtual thread, which the kernel does not know. */
    static native boolean count(long[] into);
}
