import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** H2 in memory: threads move money between accounts, and none may be lost. */
public final class Database {
    static final int ACCOUNTS = 200, EACH = 1000, THREADS = 3;

    static void move(String url, int seed, long until) throws Exception {
        long random = seed;
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            PreparedStatement change =
                connection.prepareStatement("UPDATE account SET money = money + ? WHERE id = ?");
            while (System.nanoTime() < until) {
                random = random * 6364136223846793005L + 1442695040888963407L;
                int from = (int) (random >>> 33) % ACCOUNTS, to = (from + 1) % ACCOUNTS;
                // Always the smaller first: nobody waits in a circle.
                for (int account : from < to ? new int[] {from, to} : new int[] {to, from}) {
                    change.setInt(1, account == from ? -1 : 1);
                    change.setInt(2, account);
                    change.executeUpdate();
                }
                connection.commit();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
        try (Connection connection = DriverManager.getConnection(url);
             Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account (id INT PRIMARY KEY, money INT)");
            for (int i = 0; i < ACCOUNTS; i++)
                statement.execute("INSERT INTO account VALUES (" + i + ", " + EACH + ")");
            long until = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
            List<Thread> threads = new ArrayList<>();
            List<Exception> failed = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int seed = i + 1;
                Thread thread = new Thread(() -> {
                    try {
                        move(url, seed, until);
                    } catch (Exception e) {
                        synchronized (failed) {
                            failed.add(e);
                        }
                    }
                }, "teller " + i);
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads)
                thread.join();
            for (Exception e : failed)
                throw e;
            ResultSet sum = statement.executeQuery("SELECT SUM(money) FROM account");
            sum.next();
            System.out.println(sum.getInt(1) == ACCOUNTS * EACH ? "right" : "wrong");
        }
    }
}
