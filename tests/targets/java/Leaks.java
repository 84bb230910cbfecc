import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Holds sessions in three ways: `Leaks SESSIONS`. Begins with a line of output, and ends with one of
 * input; a line of input before that makes as many sessions again.
 */
public class Leaks {
    static final Map<String, Session> BY_USER = new HashMap<>();
    static Server server = new Server();

    static class Session {
        final String user;
        final List<String> cart = new ArrayList<>();
        final byte[] page = new byte[500];
        Session next;

        Session(String user) {
            this.user = user;
            cart.add(new String("apple"));
        }
    }

    static class Server {
        final List<Session> open = new ArrayList<>();
        final Runnable onClose;

        Server() {
            Session captured = new Session("captured");
            onClose = () -> System.out.println(captured);
        }
    }

    static void fill(int from, int to) {
        for (int i = from; i < to; i++) {
            Session session = new Session("u-" + i);
            BY_USER.put(session.user, session);
            if (i % 2 == 0)
                server.open.add(new Session("open-" + i));
        }
    }

    public static void main(String[] args) throws Exception {
        int sessions = Integer.parseInt(args[0]);
        fill(0, sessions);
        Integer[] sparse = new Integer[10000];
        sparse[5] = 7777;
        Session chain = new Session("first");
        for (int i = 0; i < 100; i++) {
            Session before = new Session("chained");
            before.next = chain;
            chain = before;
        }
        for (int round = 1;; round++) {
            System.out.println("ready");
            if (System.in.read() != '+')
                break;
            System.in.read();
            fill(round * sessions, (round + 1) * sessions);
        }
        System.out.println(chain.user + sparse[5]);
    }
}
